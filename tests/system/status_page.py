"""Looks at the status page of a serving_host with Chromium, by its DevTools protocol over a pipe.

status_page.py HOST FOLDER MODEL [PICTURE]: PICTURE is where a screenshot goes, such as docs/status-page.png.
"""
import base64
import json
import os
import subprocess
import sys
import time

from host_admin import Host, TOKEN, wait_until


class Browser:
    """A page of a headless Chromium.  `errors` are those of its console."""

    def __init__(self, folder):
        self.errors, self.number, self.rest, self.is_loaded = [], 0, b"", False
        to_read, self.out = os.pipe()
        self.into, to_write = os.pipe()

        def take_pipes():  # where Chromium looks for them
            os.dup2(os.dup(to_read), 3)
            os.dup2(os.dup(to_write), 4)

        # The descriptors must not be in each other's place before they are moved.
        to_read, to_write = (os.dup2(fd, fd + 50, inheritable=True) for fd in (to_read, to_write))
        with open(folder + "/chromium.log", "w") as log:
            self.process = subprocess.Popen(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-lcd-text", "--hide-scrollbars", "--disable-dev-shm-usage", "--no-first-run",
                                             "--remote-debugging-pipe", "--user-data-dir=" + folder + "/chromium", "about:blank"],
                                            stdout=log, stderr=log, preexec_fn=take_pipes, close_fds=False)
        os.close(to_read)
        os.close(to_write)
        self.session = None
        target = wait_until(lambda: [one for one in self.ask("Target.getTargets")["targetInfos"] if one["type"] == "page"], "a page")[0]["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page"):
            self.ask(domain + ".enable")

    def read(self):
        while b"\0" not in self.rest:
            more = os.read(self.into, 1 << 16)
            assert more, "Chromium has ended"
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def note(self, message):
        what = message.get("params", {})
        self.is_loaded |= message.get("method") == "Page.loadEventFired"
        if message.get("method") == "Runtime.exceptionThrown" or (message.get("method") == "Runtime.consoleAPICalled" and what["type"] == "error"):
            self.errors.append(what)
        if message.get("method") == "Log.entryAdded" and what["entry"]["level"] == "error":
            self.errors.append(what["entry"])

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                assert "result" in answer, answer
                return answer["result"]
            self.note(answer)

    def load(self, url):
        """Until then a script may find the page before, or a document without a body."""
        self.is_loaded = False
        self.ask("Page.navigate", url=url)
        while not self.is_loaded:
            self.note(self.read())

    def value(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def shows(self, *words):
        wait_until(lambda: all(word in self.value("document.body.innerText") for word in words), "the page shows " + ", ".join(words))

    def row(self, version):
        return self.value("Array.from(document.querySelectorAll('tbody tr')).map((row) => row.innerText).find((text) => /^%s\\b/.test(text)) || ''" % version)

    def picture(self, path):
        data = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def end(self):
        self.session = None
        self.ask("Browser.close")
        self.process.wait(20)


def window(browser, width, height, scheme):
    browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    is_so = "innerWidth === %d && innerHeight === %d && matchMedia('(prefers-color-scheme: %s)').matches" % (width, height, scheme)
    wait_until(lambda: browser.value(is_so), "a window of %d pixels" % width)


def check_layout(browser):
    """Nothing is wider than a narrow window; light and dark differ, and texts can be read in both."""
    for width in (360, 1200):
        window(browser, width, 800, "light")
        assert browser.value("document.documentElement.scrollWidth") <= width, width
    colours = []
    for scheme in ("light", "dark"):
        window(browser, 360, 800, scheme)
        colours.append(browser.value("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"))
    assert colours[0] != colours[1], colours
    for back, text in colours:
        brightness = [sum(int(part) for part in colour.strip("rgb()").split(",")) for colour in (back, text)]
        assert abs(brightness[0] - brightness[1]) > 380, colours


def check_names(browser):
    """What a screen reader needs: each table, picture and field has a name."""
    assert browser.value("document.documentElement.lang") == "en"
    assert browser.value("Array.from(document.querySelectorAll('table, svg')).every((one) => one.getAttribute('aria-label'))")
    assert browser.value("Array.from(document.querySelectorAll('input')).every((one) => one.labels.length)")
    assert browser.value("document.querySelectorAll('figure svg polyline').length") >= 3


def main(program, folder, model, picture=None):
    host = Host(program, folder, model, "--admin_token_file=" + folder + "/token")
    browser = Browser(folder)
    window(browser, 1000, 900, "light")
    browser.load("http://127.0.0.1:%d/" % host.admin)
    browser.shows("A token is needed")
    browser.value("byId('token').value = '%s'; byId('form').requestSubmit()" % TOKEN)
    browser.shows("half", "ready", "Latency by stage")
    assert not browser.value("byId('token').offsetParent"), "the token is still asked for"
    wait_until(lambda: "live" in browser.row(7), "version 7 is live")
    host.add(8)
    wait_until(lambda: "live" in browser.row(8) and "live" not in browser.row(7), "the update")
    host.add_broken(9)
    wait_until(lambda: "refused" in browser.row(9) and "saved_model.pb" in browser.row(9), "the refusal and why")
    host.add_empty(10)
    wait_until(lambda: "discovered" in browser.row(10), "a version that waits")
    assert host.ask("POST", "/v1/models/half/labels/stable:assign")[0] == 200
    browser.shows("stable: newest", "changed by order")
    browser.value("document.querySelector('button[type=button]').click()")
    browser.shows("Waits for the next request")
    wait_until(lambda: host.predict() or browser.value("document.querySelector('table[aria-label^=slowest] tbody tr') !== null"), "the slowest steps")
    check_layout(browser)
    check_names(browser)
    if picture:
        window(browser, 1000, 900, "light")
        end = time.monotonic() + 40
        while time.monotonic() < end:
            for _ in range(int(40 + 35 * (time.monotonic() % 9))):
                host.predict()
            time.sleep(0.2)
        # A small file: some rows are enough.
        browser.value("document.querySelectorAll('table[aria-label^=slowest] tbody tr:nth-child(n+5)').forEach((row) => row.remove())")
        window(browser, 900, browser.value("document.documentElement.scrollHeight"), "light")
        browser.picture(picture)
    # The browser itself tells of the answer before there was a token, once.
    assert len(browser.errors) <= 1 and all("401" in error.get("text", "") for error in browser.errors), browser.errors
    browser.end()
    host.end()


main(*sys.argv[1:])
