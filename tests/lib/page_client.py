# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
"""A client of `bezel view` that says what it likes: HTTP and WebSockets (RFC 6455) without a browser's good manners."""
import base64
import json
import os
import re
import socket
import struct

PATIENCE = 60 * int(os.environ.get("BEZEL_TEST_SCALE", "1"))  # seconds


def ask(port, path="/", host=None, more="", method="GET"):
    """Sends a request, and returns status, headers and body."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as s:
        s.sendall(("%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s\r\n" % (method, path, host or "127.0.0.1:%d" % port, more)).encode())
        data = b""
        while True:
            try:
                got = s.recv(1 << 16)
            except ConnectionResetError:
                break
            if not got:
                break
            data += got
            head, _, body = data.partition(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: (\d+)", head)
            if length and len(body) >= int(length.group(1)):
                break  # the server may keep the connection for a while
    head, _, body = data.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1.1 (\d+)", head)
    return int(status.group(1)) if status else 0, head.decode(errors="replace"), body.decode(errors="replace")


def admit(port, door):
    """Uses the token in file `door`. Returns the cookie."""
    token = re.search(r"token=([0-9a-f]+)", open(door).read()).group(1)
    status, head, _ = ask(port, "/?token=" + token)
    cookie = re.search(r"(?i)set-cookie: ([^;]+); HttpOnly; SameSite=Strict; Path=/", head)
    assert status == 200 and cookie, head
    return cookie.group(1), token


def strictly(text):
    """As a browser reads JSON: without NaN and Infinity."""
    def refuse(word):
        raise ValueError("no JSON: " + word)
    return json.loads(text, parse_constant=refuse)


class Page:
    """A WebSocket. Raises ConnectionError where it is refused."""

    def __init__(self, port, cookie=None, origin=None, host=None, path="/live", protocol="bezel-view"):
        host = host or "127.0.0.1:%d" % port
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.rest = b""
        lines = ["GET %s HTTP/1.1" % path, "Host: " + host, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                 "Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)).decode(), "Sec-WebSocket-Protocol: " + protocol]
        if origin != "":
            lines.append("Origin: " + (origin or "http://" + host))
        if cookie:
            lines.append("Cookie: " + cookie)
        self.socket.sendall("\r\n".join(lines + ["", ""]).encode())
        while b"\r\n\r\n" not in self.rest:
            self._more()
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        if b" 101 " not in head:
            self.close()
            raise ConnectionError(head.decode(errors="replace"))
        self.head = head.decode()

    def close(self):
        self.socket.close()

    def _more(self):
        got = self.socket.recv(1 << 16)
        if not got:
            raise ConnectionError("closed")
        self.rest += got

    def _take(self, n):
        while len(self.rest) < n:
            self._more()
        data, self.rest = self.rest[:n], self.rest[n:]
        return data

    def frame(self, opcode, payload, final=True):
        n, mask = len(payload), os.urandom(4)
        head = bytes([(0x80 if final else 0) | opcode])
        head += bytes([0x80 | n]) if n < 126 else bytes([0xFE]) + struct.pack(">H", n) if n < 1 << 16 else bytes([0xFF]) + struct.pack(">Q", n)
        self.socket.sendall(head + mask + bytes(b ^ mask[i & 3] for i, b in enumerate(payload)))

    def say(self, text):
        self.frame(1, text.encode())

    def message(self, seconds=PATIENCE):
        """The next message: whether it is a text, and its bytes."""
        self.socket.settimeout(seconds)
        message, kind = b"", 0
        while True:
            first, second = self._take(2)
            n = second & 0x7F
            n = struct.unpack(">H", self._take(2))[0] if n == 126 else struct.unpack(">Q", self._take(8))[0] if n == 127 else n
            payload = self._take(n)
            kind = first & 0xF or kind
            if kind == 8:
                raise ConnectionError(payload[2:].decode(errors="replace"))
            if kind in (9, 10):
                continue
            message += payload
            if first & 0x80:
                break
        return kind == 1, message

    def hear(self, seconds=PATIENCE):
        """The next message: a dictionary, with `arrays` of a picture, or a text."""
        is_text, message = self.message(seconds)
        if is_text:
            text = message.decode()
            return strictly(text) if text.startswith("{") else text
        n = struct.unpack("<I", message[:4])[0]
        header, at = strictly(message[4:4 + n]), (4 + n + 7) // 8 * 8
        for row in header["rows"]:
            for name in ["at", "count", "lost"] + (["min", "max", "last"] if row.get("values") else []):
                count = row.get("columns", 0)
                row[name] = struct.unpack("<%dd" % count, message[at:at + 8 * count])
                at += 8 * count
        assert at == len(message), "the header does not explain the frame"
        return header

    def until(self, what):
        """The next message that is `what`."""
        while True:
            m = self.hear()
            if isinstance(m, dict) and m["is"] == what:
                return m
