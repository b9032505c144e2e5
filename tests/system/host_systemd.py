"""Stands for the service manager: starts serving_host with a socket of its own, and reads what it is told.

host_systemd.py HOST MODEL: exit status 0 where it is told all that sd_notify(3) wants, in that order, and the
socket is taken.
"""
import os
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request

host, model = sys.argv[1:]
failed = 0
passed = 0


def check(name, good):
    global failed, passed
    if good:
        passed += 1
    else:
        failed += 1
        print("failed: " + name)


class Service:
    """A host with NOTIFY_SOCKET, WATCHDOG_USEC, and `listener` as descriptor 3."""

    def __init__(self, folder, listener, flags):
        self.messages = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.messages.bind(os.path.join(folder, "notify"))
        self.messages.settimeout(20)
        environment = dict(os.environ, NOTIFY_SOCKET=os.path.join(folder, "notify"), LISTEN_FDS="1", WATCHDOG_USEC="100000")
        # The process gets the descriptor as its 3, and its own number as LISTEN_PID, as sd_listen_fds(3) says.
        start = f'exec 3<&{listener.fileno()}; LISTEN_PID=$$ exec "$0" "$@" 2>"{folder}/log"'
        command = ["sh", "-c", start, host, f"--model_base_path={model}", "--model_name=sample"] + flags
        self.process = subprocess.Popen(command, env=environment, pass_fds=[listener.fileno()])

    def expect(self, wanted):
        """Whether a message with the line comes; what the watchdog gets is passed over."""
        while True:
            try:
                lines = self.messages.recv(4096).decode().split("\n")
            except TimeoutError:
                return False
            if wanted in lines:
                return True
            if lines != ["WATCHDOG=1"]:
                print("got", lines, "before", wanted)
                return False

    def end(self):
        self.messages.close()
        return self.process.wait(timeout=20)


def listen():
    listener = socket.create_server(("127.0.0.1", 0))
    return listener, listener.getsockname()[1]


with tempfile.TemporaryDirectory() as folder:
    listener, port = listen()
    service = Service(folder, listener, [f"--rest_api_port={port}", "--drain_delay_in_ms=0"])
    check("it says that it loads", service.expect("STATUS=loading"))
    check("it says when the model is served", service.expect("READY=1"))
    url = f"http://127.0.0.1:{port}/v1/models/sample"
    with urllib.request.urlopen(url, timeout=20) as answer:
        check("it answers on the socket that was passed", b"AVAILABLE" in answer.read())
    check("the watchdog hears of it", service.expect("WATCHDOG=1"))
    service.process.send_signal(signal.SIGHUP)
    check("it says that it reads its configuration again", service.expect("RELOADING=1"))
    check("and when it has", service.expect("READY=1"))
    service.process.send_signal(signal.SIGTERM)
    check("it says that it stops", service.expect("STOPPING=1"))
    check("it ends well", service.end() == 0)
    with socket.create_connection(("127.0.0.1", port), timeout=20):
        check("the socket goes on to listen for the next one", True)

with tempfile.TemporaryDirectory() as folder:
    listener, port = listen()
    service = Service(folder, listener, ["--rest_api_port=0"])
    check("a socket that no flag means ends it", service.end() == 1)
    with open(os.path.join(folder, "log"), encoding="utf-8") as log:
        check("and the log says which", f"port {port}" in log.read())

print(f"[  PASSED  ] {passed} test(s).")
if failed:
    print(f"[  FAILED  ] {failed} test(s).")
sys.exit(failed != 0)
