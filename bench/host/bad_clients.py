"""Clients that send what no client should, in each protocol and below, against a server that must not mind."""
import json
import random
import socket
import struct
import threading
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS = 1, 4
DRIPPING, DRIP_SECONDS = 20, 8


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def block(fields):
    """HPACK: literals without an index; names and values are short."""
    return b"".join(b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode() for name, value in fields)


def grpc_head(path="/tensorflow.serving.PredictionService/Predict"):
    return block([(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "a"), ("te", "trailers"),
                  ("content-type", "application/grpc")])


def post(path, body, *headers, length=None):
    lines = ["POST %s HTTP/1.1" % path, "Host: a", "Content-Length: %s" % (len(body) if length is None else length), *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class BadClients:
    """`calls` are good ones (protocols.Call), to be broken.  Each method below makes the bytes of a bad connection; that of a kind in
    `never` must not be answered by 200."""

    never = {"cut_body", "long_body", "two_lengths", "bad_chunks", "huge_body", "long_head", "bad_json", "bad_message", "bad_v2_length", "tls"}

    def __init__(self, ports, calls, seed=1):
        self.ports, self.random = ports, random.Random(seed)
        self.http = [call for call in calls if not call.grpc]
        self.grpc = next(call for call in calls if call.grpc)
        self.json = next(call for call in calls if call.kind == "application/json")
        self.message = next(call for call in calls if call.kind == "application/x-protobuf")
        self.v2 = next(call for call in calls if call.header)
        self.kinds = [name for name in dir(self) if name in self.never or name.startswith("any_")]
        self.counts, self.failures, self.ended = {}, [], threading.Event()

    def junk(self, most):
        return self.random.randbytes(self.random.randint(1, most))

    # ------------------------------------------------------------ HTTP/1.1

    def cut_body(self):
        call = self.random.choice(self.http)
        whole = post(call.path, call.body, "Content-Type: " + call.kind)
        return whole[:self.random.randint(1, len(whole) - 1)]

    def long_body(self):
        return post(self.json.path, self.json.body, length=len(self.json.body) + 100)

    def two_lengths(self):
        return post(self.json.path, self.json.body, "Content-Length: 3")

    def bad_chunks(self):
        sizes = ["zz", "-1", "ffffffffffffffffff", "5;" + "x" * 9000, ""]
        head = "POST %s HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\n" % (self.json.path, self.random.choice(sizes))
        return head.encode() + self.json.body

    def huge_body(self):
        return post(self.json.path, b"{", length=self.random.choice([10**12, 2**63 - 1, 2**64, 10**40, -5]))

    def long_head(self):
        return b"GET /v1/models/half HTTP/1.1\r\nHost: a\r\n" + b"X-A: b\r\n" * 20000

    def any_garbage(self):
        return self.junk(3000)

    def any_tail(self):
        """A good request, and garbage behind it."""
        return post(self.json.path, self.json.body) + self.junk(300)

    def any_many(self):
        """Requests one behind the other, whose answers nobody reads."""
        call = self.random.choice(self.http)
        headers = ["Content-Type: " + call.kind] + ([call.header] if call.header else [])
        return post(call.path, call.body, *headers) * 10

    def tls(self):
        return b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + self.random.randbytes(self.random.randint(0, 300))

    # ------------------------------------------------------------- bodies

    def bad_json(self):
        bodies = [b"{\"instances\": [", b"[" * 100000, b"{\"inputs\": {\"keys\": [1e999999]}}", b"{\"inputs\": nul", b"\xff\xfe\0", self.json.body[:-3],
                  json.dumps({"inputs": {"keys": "x" * 100000}}).encode()]
        return post(self.json.path, self.random.choice(bodies), "Connection: close")

    def bad_message(self):
        body = self.random.choice([self.message.body[:len(self.message.body) // 2], b"\x0a\xff\xff\xff\xff\x0f", b"\x12" * 1000, self.junk(500)])
        return post(self.message.path, body, "Content-Type: " + self.message.kind, "Connection: close")

    def any_flipped(self):
        call = self.random.choice(self.http)
        body = bytearray(call.body)
        for _ in range(3):
            body[self.random.randrange(len(body))] ^= 1 << self.random.randrange(8)
        headers = ["Content-Type: " + call.kind, "Connection: close"] + ([call.header] if call.header else [])
        return post(call.path, bytes(body), *headers)

    def bad_v2_length(self):
        length = self.random.choice([0, 1, len(self.v2.body) - 1, 10**18, -1, "x"])
        return post(self.v2.path, self.v2.body, "Inference-Header-Content-Length: %s" % length, "Connection: close")

    # ------------------------------------------------------ HTTP/2 and gRPC

    def any_h2_garbage(self):
        return PREFACE + frame(SETTINGS, 0, 0) + self.junk(2000)

    def any_h2_kinds(self):
        frames = [frame(self.random.randrange(12), self.random.randrange(256), self.random.randrange(6), self.junk(60)) for _ in range(20)]
        return PREFACE + frame(SETTINGS, 0, 0) + b"".join(frames)

    def any_rapid_resets(self):
        streams = [frame(HEADERS, END_HEADERS, 2 * i + 1, grpc_head()) + frame(RST_STREAM, 0, 2 * i + 1, struct.pack(">I", 8)) for i in range(40)]
        return PREFACE + frame(SETTINGS, 0, 0) + b"".join(streams)

    def any_hpack_junk(self):
        return PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, END_HEADERS | END_STREAM, 1, self.random.choice(
            [self.junk(300), b"\x7f" + b"\xff" * 20, b"\x3f" + b"\xff" * 9, b"\xbf" * 200]))

    def any_continuations(self):
        return PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 0, 1, grpc_head()) + frame(CONTINUATION, 0, 1, b"\0\1a\1b") * 400

    def any_pings(self):
        return PREFACE + frame(SETTINGS, 0, 0) + frame(PING, 0, 0, b"12345678") * 200 + frame(SETTINGS, 0, 0) * 50

    def any_windows(self):
        window = struct.pack(">HI", 4, self.random.choice([0, 1, 2**31 - 1, 2**32 - 1]))
        return PREFACE + frame(SETTINGS, 0, 0, window) + self.grpc_call(self.grpc.body) + frame(
            WINDOW_UPDATE, 0, 1, struct.pack(">I", self.random.choice([0, 1, 2**31 - 1])))

    def any_grpc_length(self):
        size = self.random.choice([0, 1, len(self.grpc.body) + 5, 2**31, 2**32 - 1])
        return PREFACE + frame(SETTINGS, 0, 0) + self.grpc_call(b"\0" + struct.pack(">I", size) + self.grpc.body[5:])

    def any_grpc_junk(self):
        return PREFACE + frame(SETTINGS, 0, 0) + self.grpc_call(b"\1\0\0\0\x09" + self.junk(9)) + self.grpc_call(self.grpc.body[:20], stream=3)

    def any_grpc_cut(self):
        """Calls whose answers nobody reads."""
        return PREFACE + frame(SETTINGS, 0, 0) + b"".join(self.grpc_call(self.grpc.body, stream=2 * i + 1) for i in range(10))

    def grpc_call(self, body, stream=1):
        return frame(HEADERS, END_HEADERS, stream, grpc_head()) + frame(DATA, END_STREAM, stream, body[:16000])

    # ------------------------------------------------------------- running

    def one(self):
        kind = self.random.choice(self.kinds)
        data, how = getattr(self, kind)(), self.random.randrange(3)
        connection = socket.create_connection(("127.0.0.1", self.random.choice(self.ports)), timeout=2)
        answer = b""
        try:
            if how == 0:  # the connection is reset at once
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(data)
            if how == 1:
                connection.shutdown(socket.SHUT_WR)
            if how != 0:
                answer = connection.recv(100)
        except OSError:
            pass  # the server may close whenever it likes
        connection.close()
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if kind in self.never and answer.startswith(b"HTTP/1.1 200"):
            self.failures.append("a bad request (%s) is answered by %r" % (kind, answer))

    def run(self):
        while not self.ended.is_set():
            try:
                self.one()
            except OSError as error:
                self.failures.append("a connection is refused: %s" % error)
            self.ended.wait(self.random.uniform(0, 0.05))

    def drip(self):
        """Connections that send a good request byte by byte, and never all of it."""
        whole = [post(self.json.path, self.json.body), PREFACE + frame(SETTINGS, 0, 0) + self.grpc_call(self.grpc.body)]
        while not self.ended.is_set():
            connections = [socket.create_connection(("127.0.0.1", port), timeout=2) for port in self.ports for _ in range(DRIPPING // len(self.ports))]
            begin = time.monotonic()
            for at in range(10**6):
                if self.ended.wait(0.1) or time.monotonic() > begin + DRIP_SECONDS:
                    break
                for number, connection in enumerate(connections):
                    data = whole[number % 2]
                    try:
                        connection.send(data[at:at + 1] if at + 1 < len(data) else b"")
                    except OSError:
                        pass
            for connection in connections:
                connection.close()
            self.counts["drip"] = self.counts.get("drip", 0) + len(connections)


if __name__ == "__main__":
    print(__doc__)
