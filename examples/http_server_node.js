// http_server_node.js URL CERTIFICATE: sends requests to the server of http_server_peers.py with Node's
// client, and prints the results as JSON.
"use strict";
const fs = require("fs");
const net = require("net");
const tls = require("tls");

const url = new URL(process.argv[2]);
const secured = url.protocol === "https:";
const http = secured ? require("https") : require("http");
const trust = secured ? { ca: fs.readFileSync(process.argv[3]) } : {};
const agent = new http.Agent({ keepAlive: true, maxSockets: 4, ...trust });
const sockets = new Set(); // their local ports

function ask(path, { method = "GET", headers = {}, pieces = [] } = {}) {
    return new Promise((resolve, reject) => {
        const asked = http.request({ host: url.hostname, port: url.port, path, method, headers, agent }, (answer) => {
            const got = [];
            sockets.add(asked.socket.localPort);
            answer.on("data", (piece) => got.push(piece));
            answer.on("error", reject);
            answer.on("end", () => {
                resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(got) });
            });
        });
        asked.on("error", reject);
        for (const piece of pieces) asked.write(piece);
        asked.end();
    });
}

async function files(count) {
    const answers = await Promise.all(Array.from({ length: count }, () => ask("/a.txt")));
    return {
        answers: answers.length,
        wrong: answers.filter((a) => a.status !== 200 || a.body.toString() !== "0123456789").map((a) => a.status),
        bytes: answers.reduce((sum, a) => sum + a.body.length, 0),
    };
}

// Sends all requests at once. The last one ends the connection.
function pipeline(times) {
    const paths = Array.from({ length: times }, () => ["/a.txt", "/nowhere", "/sub/"]).flat();
    return new Promise((resolve, reject) => {
        const options = { host: url.hostname, port: Number(url.port), ...trust };
        const socket = secured ? tls.connect(options) : net.connect(options);
        let text = "";
        socket.on("error", reject);
        socket.on("data", (piece) => (text += piece.toString("latin1")));
        socket.on("end", () => {
            resolve({ statuses: [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map((found) => Number(found[1])), ended: true });
            socket.end();
        });
        const last = paths.length - 1;
        socket.write(paths.map((p, i) => `GET ${p} HTTP/1.1\r\nHost: a\r\n${i === last ? "Connection: close\r\n" : ""}\r\n`).join(""));
    });
}

async function main() {
    const got = { files: await files(400) };
    const large = await ask("/large.bin");
    got.large = { status: large.status, bytes: large.body.length };
    const part = await ask("/a.txt", { headers: { Range: "bytes=2-5" } });
    got.part = { status: part.status, range: part.headers["content-range"], text: part.body.toString() };
    const echo = await ask("/api/echo", { method: "POST", headers: { "Content-Type": "application/json" }, pieces: ["[1,2", ",3]"] });
    got.echo = { status: echo.status, body: JSON.parse(echo.body) };
    const head = await ask("/a.txt", { method: "HEAD" });
    got.head = { status: head.status, length: head.headers["content-length"], bytes: head.body.length };
    got.nowhere = { status: (await ask("/nowhere")).status };
    got.sockets = sockets.size;
    agent.destroy();
    got.pipeline = await pipeline(30);
    console.log(JSON.stringify(got));
}

main().catch((error) => {
    console.error(error);
    process.exitCode = 1;
});
