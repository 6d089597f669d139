#!/usr/bin/env python3
"""49_websocket_test.py PROGRAM: tests the WebSocket example with clients of this file."""
import base64
import hashlib
import os
import signal
import socket
import struct
import subprocess
import sys
import unittest

PROGRAM = ""
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
PATIENCE = 60


class Client:
    def __init__(self, port, path="/room", **fields):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        key = base64.b64encode(os.urandom(16)).decode()
        more = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                             f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n{more}\r\n").encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        while (line := self.file.readline().decode().strip()):
            name, value = line.split(": ", 1)
            self.headers[name.lower()] = value
        expected = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        assert self.status != 101 or self.headers["sec-websocket-accept"] == expected

    def send(self, opcode, payload):
        mask = os.urandom(4)
        size = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + struct.pack(">H", len(payload))
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        self.socket.sendall(bytes([0x80 | opcode]) + size + mask + masked)

    def receive(self):
        """Returns the opcode and the payload; None at the end of the connection."""
        head = self.file.read(2)
        if len(head) < 2:
            return None
        size = head[1]
        if size == 126:
            size, = struct.unpack(">H", self.file.read(2))
        return head[0] & 0xF, self.file.read(size)

    def close(self):
        self.file.close()
        self.socket.close()


class Room(unittest.TestCase):
    def setUp(self):
        self.program = subprocess.Popen([PROGRAM], stdout=subprocess.PIPE, text=True)
        self.port = int(self.program.stdout.readline().rsplit(":", 1)[1].strip("/\n"))
        self.clients = []

    def tearDown(self):
        for client in self.clients:
            client.close()
        if self.program.poll() is None:
            self.program.kill()
            self.program.wait()
        self.program.stdout.close()

    def client(self, **fields):
        self.clients.append(Client(self.port, **fields))
        return self.clients[-1]

    def test_all_get_what_one_sends(self):
        ann, bob = self.client(), self.client()
        bob.send(PING, b"are you there")  # the answer shows that both are in the room
        self.assertEqual(bob.receive(), (PONG, b"are you there"))
        ann.send(TEXT, "hällo".encode())
        self.assertEqual(ann.receive(), (TEXT, "hällo".encode()))
        self.assertEqual(bob.receive(), (TEXT, "hällo".encode()))
        ann.send(TEXT, b"x" * 4096)
        self.assertEqual(bob.receive(), (TEXT, b"x" * 4096))
        ann.send(TEXT, b"x" * 4097)
        self.assertEqual(ann.receive(), (TEXT, b"x" * 4096))
        opcode, payload = ann.receive()
        self.assertEqual((opcode, payload[:2]), (CLOSE, struct.pack(">H", 1009)))

    def test_pages_of_other_sites_are_refused(self):
        self.assertEqual(self.client(Origin=f"http://127.0.0.1:{self.port}").status, 101)
        self.assertEqual(self.client(Origin="http://example.com").status, 403)

    def test_a_signal_says_goodbye_to_all(self):
        ann, bob = self.client(), self.client()
        for client in ann, bob:
            client.send(PING, b"")
            self.assertEqual(client.receive(), (PONG, b""))
        self.program.send_signal(signal.SIGTERM)
        for client in ann, bob:
            opcode, payload = client.receive()
            self.assertEqual((opcode, payload[:2]), (CLOSE, struct.pack(">H", 1001)))
            client.send(CLOSE, struct.pack(">H", 1001))
            self.assertIsNone(client.receive())
        self.assertEqual(self.program.wait(PATIENCE), 0)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
