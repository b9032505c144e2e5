#!/usr/bin/env python3
"""Serves files below a folder as object stores do, for tests.

    object_server.py ROOT PORT_FILE [--key=ID:SECRET[:TOKEN]] [--tls=CERT:KEY]

Every bucket is ROOT.  It speaks, told apart by the request:

    S3        GET /BUCKET?list-type=2..., GET and HEAD /BUCKET/KEY; path style
    OSS       the same with ListObjects of version 1, signed "OSS ID:..." or "OSS4-..."
    WebHDFS   /webhdfs/v1/PATH?op=LISTSTATUS, GETFILESTATUS, OPEN; OPEN redirects to another port
    HTTP      /-/web/PATH; lists folders as nginx does
    HTTP without ranges: /-/plain/PATH
    HTTP whose folders have an ETag, or a time: /-/tagged/PATH, /-/dated/PATH

With --key, S3 and OSS requests must be signed; signatures are made again here from the documents
of Amazon and Alibaba, not by the code that is tested (SigV4 was compared with boto3, OSS's with oss2).

    GET /-/fault?kind=KIND&count=N    the next N requests for bytes fail so:
        500, 503, reset, short, drip, error200, range, redirect, etag, stall; down: all requests, till count=0
    /-/metadata/latest/...            the credentials of --key, as EC2's metadata service of version 2 tells them
    GET /-/log                        the requests so far, one a line: METHOD PATH?QUERY RANGE; or "304 PATH" for a
                                      folder that was asked for with a condition, and has not changed
"""

import base64
import datetime
import hashlib
import hmac
import html
import http.server
import json
import os
import ssl
import sys
import threading
import time
import urllib.parse
from email.utils import formatdate
from xml.sax.saxutils import escape

ROOT = ""
KEY = None
DATA_PORT = 0
lock = threading.Lock()
fault = {"kind": "", "count": 0}
log = []


def etag_of(path):
    about = os.stat(path)
    return '"%s"' % hashlib.md5(
        f"{about.st_size} {about.st_mtime_ns} {about.st_ino}".encode()).hexdigest()


def quote(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-._~")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", headers=(), kind="application/xml"):
        if isinstance(body, str):
            body = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def error(self, status, code):
        self.answer(status, f"<?xml version='1.0'?><Error><Code>{code}</Code>"
                            f"<Message>no</Message></Error>")

    # ------------------------------------------------------------------ faults

    def take_fault(self):
        with lock:
            if fault["kind"] == "down":
                return "500"
            if fault["count"] == 0:
                return ""
            fault["count"] -= 1
            return fault["kind"]

    def send_bytes(self, path, first, size, headers, with_range=True, status=None):
        whole = os.path.getsize(path)
        kind = self.take_fault() if self.command == "GET" else ""
        if kind in ("500", "503"):
            return self.error(int(kind), "InternalError")
        if kind == "redirect":
            return self.answer(302, headers=[("Location", "http://127.0.0.1:1/elsewhere")])
        if kind == "error200":
            return self.error(200, "InternalError")
        if kind == "reset":
            self.close_connection = True
            return None
        if kind == "etag":
            headers = [(n, '"another"' if n == "ETag" else v) for n, v in headers]
        if kind == "range":
            first += 1
        with open(path, "rb") as file:
            file.seek(first)
            data = file.read(size)
        if status is None:
            status = 206 if with_range else 200
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{first + len(data) - 1}/{whole}")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "HEAD":
            return None
        if kind == "short":
            self.wfile.write(data[:len(data) // 2])
            self.close_connection = True
        elif kind == "drip":
            for i in range(0, min(len(data), 64)):
                self.wfile.write(data[i:i + 1])
                self.wfile.flush()
                time.sleep(0.05)
            self.close_connection = True
        elif kind == "stall":
            self.wfile.write(data[:1])
            self.wfile.flush()
            time.sleep(5)
            self.close_connection = True
        else:
            self.wfile.write(data)
        return None

    def object(self, path, with_ranges=True, with_tag=True):
        if not os.path.isfile(path):
            return self.error(404, "NoSuchKey")
        headers = [("Last-Modified", formatdate(os.path.getmtime(path), usegmt=True))]
        if with_tag:
            headers.append(("ETag", etag_of(path)))
        wanted = self.headers.get("If-Match")
        if wanted is not None and wanted != etag_of(path):
            return self.error(412, "PreconditionFailed")
        size = os.path.getsize(path)
        span = self.headers.get("Range")
        if span is None or not with_ranges or self.command == "HEAD":
            return self.send_bytes(path, 0, size, headers, with_range=False)
        first, last = span.split("=")[1].split("-")
        if int(first) >= size:
            return self.error(416, "InvalidRange")
        return self.send_bytes(path, int(first), min(int(last), size - 1) - int(first) + 1, headers)

    # -------------------------------------------------------------- S3 and OSS

    def hmac(self, key, text):
        return hmac.new(key, text.encode(), hashlib.sha256).digest()

    def signature4(self, text, fields, prefix, service, ending, headers):
        """That of version 4 of Amazon's and Alibaba's, from the parts of the credential's scope."""
        _, date, region, _, _ = fields
        key = self.hmac((prefix + KEY[1]).encode(), date)
        for part in (region, service, ending):
            key = self.hmac(key, part)
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()

    def canonical_query(self, drop_empty):
        pairs = urllib.parse.parse_qsl(self.query, keep_blank_values=True)
        return "&".join(quote(n) + ("=" + quote(v) if v or not drop_empty else "")
                        for n, v in sorted(pairs))

    def check_s3(self, given):
        parts = dict(p.strip().split("=", 1) for p in given.split(" ", 1)[1].split(","))
        fields = parts["Credential"].split("/")
        lines = "".join(f"{n}:{self.headers[n].strip()}\n" for n in parts["SignedHeaders"].split(";"))
        request = "\n".join((self.command, quote(urllib.parse.unquote(self.where), "/"),
                             self.canonical_query(False), lines, parts["SignedHeaders"],
                             self.headers["x-amz-content-sha256"]))
        text = "\n".join(("AWS4-HMAC-SHA256", self.headers["x-amz-date"], "/".join(fields[1:]),
                          hashlib.sha256(request.encode()).hexdigest()))
        token = KEY[2] if len(KEY) > 2 else None
        return (fields[0] == KEY[0] and self.headers.get("x-amz-security-token") == token and
                parts["Signature"] == self.signature4(text, fields, "AWS4", "s3", "aws4_request", None))

    def check_oss4(self, given, bucket, key):
        parts = dict(p.strip().split("=", 1) for p in given.split(" ", 1)[1].split(","))
        fields = parts["Credential"].split("/")
        lines = "".join(f"{n}:{v}\n" for n, v in sorted((n.lower(), v) for n, v in self.headers.items())
                        if n.startswith("x-oss-"))
        request = "\n".join((self.command, quote(f"/{bucket}/{key}", "/"), self.canonical_query(True),
                             lines, "", self.headers["x-oss-content-sha256"]))
        text = "\n".join(("OSS4-HMAC-SHA256", self.headers["x-oss-date"], "/".join(fields[1:]),
                          hashlib.sha256(request.encode()).hexdigest()))
        return (fields[0] == KEY[0] and
                parts["Signature"] == self.signature4(text, fields, "aliyun_v4", "oss",
                                                      "aliyun_v4_request", None))

    def check_oss1(self, given, bucket, key):
        lines = "".join(f"{n}:{v}\n" for n, v in sorted((n.lower(), v) for n, v in self.headers.items())
                        if n.startswith("x-oss-"))
        text = f"{self.command}\n\n\n{self.headers['date']}\n{lines}/{bucket}/{key}"
        wanted = base64.b64encode(hmac.new(KEY[1].encode(), text.encode(), hashlib.sha1).digest())
        return given == f"OSS {KEY[0]}:{wanted.decode()}"

    def is_allowed(self, bucket, key):
        given = self.headers.get("Authorization")
        if KEY is None or given is None:
            return KEY is None
        if given.startswith("AWS4-"):
            return self.check_s3(given)
        return (self.check_oss4 if given.startswith("OSS4-") else self.check_oss1)(given, bucket, key)

    def names_below(self, prefix):
        folder = os.path.join(ROOT, prefix.rsplit("/", 1)[0] if "/" in prefix else "")
        found = []
        for at, _, files in os.walk(folder):
            for name in files:
                key = os.path.relpath(os.path.join(at, name), ROOT)
                if key.startswith(prefix):
                    found.append(key)
        return sorted(found)

    def list(self, q):
        prefix, delimiter = q.get("prefix", ""), q.get("delimiter", "")
        after = q.get("continuation-token", q.get("marker", ""))
        most, seen, items = min(int(q.get("max-keys", "1000")), 1000), set(), []
        for key in self.names_below(prefix):
            if delimiter and delimiter in key[len(prefix):]:
                key = prefix + key[len(prefix):].split(delimiter)[0] + delimiter
            if key > after and key not in seen:
                seen.add(key)
                items.append(key)
        page, more = items[:most], len(items) > most
        out = ["<?xml version='1.0' encoding='UTF-8'?>"
               "<ListBucketResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'>"]
        out.append(f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>")
        if more:
            name = "NextContinuationToken" if "list-type" in q else "NextMarker"
            out.append(f"<{name}>{escape(page[-1])}</{name}>")
        for key in page:
            if key.endswith("/"):
                out.append(f"<CommonPrefixes><Prefix>{escape(key)}</Prefix></CommonPrefixes>")
                continue
            path = os.path.join(ROOT, key)
            try:
                when = datetime.datetime.fromtimestamp(os.path.getmtime(path), datetime.timezone.utc)
                out.append(f"<Contents><Key>{escape(key)}</Key><LastModified>"
                           f"{when.strftime('%Y-%m-%dT%H:%M:%S.000Z')}</LastModified>"
                           f"<ETag>{escape(etag_of(path), {chr(34): '&quot;'})}</ETag>"
                           f"<Size>{os.path.getsize(path)}</Size></Contents>")
            except FileNotFoundError:
                pass
        self.answer(200, "".join(out) + "</ListBucketResult>")

    def bucket(self):
        bucket, _, key = urllib.parse.unquote(self.where)[1:].partition("/")
        if not self.is_allowed(bucket, key):
            return self.error(403, "SignatureDoesNotMatch")
        if key == "":
            return self.list(dict(urllib.parse.parse_qsl(self.query)))
        return self.object(os.path.join(ROOT, key))

    # ----------------------------------------------------------------- WebHDFS

    def status_of(self, path, name):
        about = os.stat(path)
        return {"pathSuffix": name, "type": "DIRECTORY" if os.path.isdir(path) else "FILE",
                "length": 0 if os.path.isdir(path) else about.st_size, "fileId": about.st_ino,
                "modificationTime": int(about.st_mtime * 1000)}

    def hdfs(self):
        q = dict(urllib.parse.parse_qsl(self.query))
        name = urllib.parse.unquote(self.where)[len("/webhdfs/v1/"):]
        path = os.path.join(ROOT, name)
        if KEY is not None and q.get("delegation") != KEY[1] and q.get("user.name") != KEY[0]:
            return self.answer(401, json.dumps({"RemoteException": {"exception": "SecurityException"}}))
        if not os.path.exists(path):
            return self.answer(404, json.dumps(
                {"RemoteException": {"exception": "FileNotFoundException"}}), kind="application/json")
        if q["op"] == "GETFILESTATUS":
            return self.answer(200, json.dumps({"FileStatus": self.status_of(path, "")}))
        if q["op"] == "LISTSTATUS":
            names = sorted(os.listdir(path))
            return self.answer(200, json.dumps({"FileStatuses": {"FileStatus": [
                self.status_of(os.path.join(path, n), n) for n in names]}}))
        if self.server.server_port != DATA_PORT:
            return self.answer(307, headers=[
                ("Location", f"http://127.0.0.1:{DATA_PORT}{self.where}?{self.query}")])
        first = int(q.get("offset", "0"))
        size = int(q.get("length", str(os.path.getsize(path))))
        return self.send_bytes(path, first, size, [], status=200)

    # -------------------------------------------------------------------- HTTP

    def web(self, with_ranges):
        path = os.path.join(ROOT, urllib.parse.unquote(self.where).split("/", 3)[3])
        if not os.path.isdir(path):
            return self.object(path, with_ranges, with_ranges)
        if not self.where.endswith("/"):
            return self.answer(301, headers=[("Location", self.where + "/")])
        lines = ["<html><head><title>Index</title></head><body><pre><a href=\"../\">../</a>"]
        for name in sorted(os.listdir(path)):
            tail = "/" if os.path.isdir(os.path.join(path, name)) else ""
            lines.append(f'<a href="{urllib.parse.quote(name)}{tail}">{html.escape(name)}{tail}</a>')
        page = "\n".join(lines) + "</pre></body></html>"
        headers = []
        if self.where.startswith("/-/tagged/"):
            headers = [("ETag", 'W/"%s"' % hashlib.md5(page.encode()).hexdigest())]
        elif self.where.startswith("/-/dated/"):
            headers = [("Last-Modified", formatdate(os.path.getmtime(path), usegmt=True))]
        known = [self.headers.get(name) for name in ("If-None-Match", "If-Modified-Since")]
        if headers and headers[0][1] in known:
            with lock:
                log.append("304 " + self.where)
            return self.answer(304, headers=headers)
        return self.answer(200, page, headers, kind="text/html")

    def metadata(self):
        role = "/latest/meta-data/iam/security-credentials/"
        where = self.where[len("/-/metadata"):]
        if where == "/latest/api/token" and self.command == "PUT":
            return self.answer(200, "s3cr3t-token", kind="text/plain")
        if self.headers.get("X-aws-ec2-metadata-token") != "s3cr3t-token":
            return self.answer(401)
        if where == role:
            return self.answer(200, "a-role\n", kind="text/plain")
        if where == role + "a-role":
            soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
            return self.answer(200, json.dumps({
                "Code": "Success", "AccessKeyId": KEY[0], "SecretAccessKey": KEY[1],
                "Token": "", "Expiration": soon.strftime("%Y-%m-%dT%H:%M:%SZ")}))
        return self.answer(404)

    def control(self):
        q = dict(urllib.parse.parse_qsl(self.query))
        if self.where == "/-/log":
            with lock:
                return self.answer(200, "\n".join(log) + "\n", kind="text/plain")
        with lock:
            fault["kind"] = q["kind"] if int(q["count"]) != 0 else ""
            fault["count"] = int(q["count"])
        return self.answer(200)

    def do_GET(self):
        self.where, _, self.query = self.path.partition("?")
        if self.where in ("/-/fault", "/-/log"):
            return self.control()
        if self.where.startswith("/-/metadata/"):
            return self.metadata()
        with lock:
            log.append(f"{self.command} {self.path} {self.headers.get('Range', '')}".strip())
            if fault["kind"] == "down":
                self.close_connection = True
        if fault["kind"] == "down":
            return self.error(503, "SlowDown")
        if self.where.startswith("/webhdfs/v1/"):
            return self.hdfs()
        if self.where.startswith(("/-/web/", "/-/plain/", "/-/tagged/", "/-/dated/")):
            return self.web(not self.where.startswith("/-/plain/"))
        return self.bucket()

    do_HEAD = do_GET
    do_PUT = do_GET


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


def main():
    global ROOT, KEY, DATA_PORT
    ROOT = os.path.abspath(sys.argv[1])
    tls = None
    for flag in sys.argv[3:]:
        name, _, value = flag.partition("=")
        if name == "--key":
            KEY = value.split(":")
        if name == "--tls":
            tls = value.split(":")
    server, data = Server(("127.0.0.1", 0), Handler), Server(("127.0.0.1", 0), Handler)
    DATA_PORT = data.server_port
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls[0], tls[1])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(sys.argv[2] + ".new", "w", encoding="ascii") as file:
        file.write(str(server.server_port))
    os.rename(sys.argv[2] + ".new", sys.argv[2])
    threading.Thread(target=data.serve_forever, daemon=True).start()
    server.serve_forever()


main()
