#include "page.h"

namespace websocket_chat {

std::string_view page() noexcept {
    return R"html(<!DOCTYPE html>
<meta charset="utf-8">
<title>weft chat</title>
<form id="who">
  <input id="room" placeholder="room" pattern="[A-Za-z0-9_\-]{1,32}" required>
  <input id="name" placeholder="your name" pattern="[A-Za-z0-9_\-]{1,32}" required>
  <button>enter</button>
</form>
<pre id="said"></pre>
<form id="talk" hidden><input id="text" size="60" maxlength="1000" autofocus><button>say</button></form>
<script>
  const at = id => document.getElementById(id);
  const show = line => at("said").textContent += line + "\n";
  at("who").onsubmit = event => {
    event.preventDefault();
    const socket = new WebSocket(`ws://${location.host}/${at("room").value}?name=${at("name").value}`);
    socket.onopen = () => { at("who").hidden = true; at("talk").hidden = false; };
    socket.onmessage = message => show(message.data);
    socket.onclose = end => { show(`-- closed: ${end.code} ${end.reason}`); at("who").hidden = false; at("talk").hidden = true; };
    at("talk").onsubmit = said => { said.preventDefault(); socket.send(at("text").value); at("text").value = ""; };
  };
</script>
)html";
}

}  // namespace websocket_chat
