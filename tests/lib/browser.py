# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
"""
Debian's Chromium, driven by its DevTools protocol over a pipe: what a test of a page needs, without a further package.

    with Browser(folder) as browser:
        browser.open("file:///page.html")
        browser.wait("document.title === 'ready'")
        browser.key("w")
"""
import base64
import json
import os
import subprocess
import time

DEADLINE = 60 * int(os.environ.get("BEZEL_TEST_SCALE", "1"))  # seconds


class Browser:
    def __init__(self, folder, width=1000, height=1500):
        ours, theirs = os.pipe(), os.pipe()  # what the browser reads, and what it writes
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                   "--remote-debugging-pipe", "--user-data-dir=" + folder, "--window-size=%d,%d" % (width, height), "about:blank"]

        def descriptors():
            low, high = os.dup(ours[0]), os.dup(theirs[1])
            os.dup2(low, 3)
            os.dup2(high, 4)

        self.errors = open(os.path.join(os.path.dirname(folder), "browser.err"), "wb")
        self.process = subprocess.Popen(command, pass_fds=(3, 4, ours[0], theirs[1]), preexec_fn=descriptors,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.errors)
        os.close(ours[0])
        os.close(theirs[1])
        self.to, self.come = ours[1], theirs[0]
        self.number, self.rest, self.session, self.console = 0, b"", None, []
        self.tab()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        os.close(self.to)
        os.close(self.come)
        self.process.terminate()
        self.process.wait()
        self.errors.close()

    def _message(self):
        while b"\0" not in self.rest:
            got = os.read(self.come, 1 << 16)
            if not got:
                raise RuntimeError("the browser ended")
            self.rest += got
        text, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(text)
        if message.get("method") == "Runtime.exceptionThrown":
            self.console.append(message["params"]["exceptionDetails"].get("exception", {}).get("description", "?"))
        return message

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session and not method.startswith("Target."):
            request["sessionId"] = self.session
        os.write(self.to, json.dumps(request).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError("%s: %s" % (method, message["error"]))
                return message["result"]

    def tab(self):
        """Opens one more tab, and goes on in it. Returns it, for use()."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Runtime.enable")
        self.call("Page.enable")
        return self.session

    def use(self, tab):
        self.session = tab
        self.call("Page.bringToFront")  # a tab in the background is hidden

    def open(self, url):
        self.call("Page.navigate", url=url)

    def look(self, expression):
        """The value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(expression + ": " + str(result["exceptionDetails"].get("exception", {}).get("description")))
        return result["result"].get("value")

    def wait(self, expression, seconds=DEADLINE):
        """Waits until an expression is true, and returns its value."""
        end = time.monotonic() + seconds
        while True:
            try:
                value = self.look(expression)
            except RuntimeError as e:  # a page that is being loaded
                value, last = None, str(e)
            else:
                last = str(value)
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError("never so: %s (%s); the page says: %s" % (expression, last, self.look("document.body.innerText")[:1500]))
            time.sleep(0.02)

    def key(self, key):
        self.look("(document.activeElement || document.body).dispatchEvent(new KeyboardEvent('keydown', {key: %s, bubbles: true}))" % json.dumps(key))

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="none" if kind == "mouseMoved" else "left", clickCount=1)

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))
