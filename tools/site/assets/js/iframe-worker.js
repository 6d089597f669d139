// iframe-worker.js: lets the search run when pages are read from files.
//
// A browser starts no worker from a file:// address. There, this class runs the worker's script in
// an invisible frame. It has only what the search of the theme uses: postMessage, onmessage,
// message events and importScripts.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];  // messages until the script has been loaded
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.src = "about:blank";
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.receive(data);
      inside.importScripts = (...scripts) => scripts.reduce((before, script) => before.then(() => this.load(script)), Promise.resolve());
      this.load(address).then(() => {
        const early = this.waiting;
        this.waiting = null;
        early.forEach((data) => this.postMessage(data));
      });
    }

    // From the worker.
    receive(data) {
      const event = new MessageEvent("message", {data});
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }

    // To the worker.
    postMessage(data) {
      if (this.waiting) {
        this.waiting.push(data);
        return;
      }
      const inside = this.frame.contentWindow;
      inside.dispatchEvent(new inside.MessageEvent("message", {data}));
    }

    load(address) {
      const script = this.frame.contentDocument.createElement("script");
      script.src = address;
      return new Promise((loaded, failed) => {
        script.onload = loaded;
        script.onerror = failed;
        this.frame.contentDocument.body.appendChild(script);
      });
    }

    terminate() {
      this.frame.remove();
    }
  };
}
