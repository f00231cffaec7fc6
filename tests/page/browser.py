"""A headless Chromium, spoken to through its debugging pipe: two file descriptors and JSON, no further package."""

import json
import os
import select
import shutil
import subprocess
import time

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def chromium():
    """The path of a Chromium; where there is none the test is skipped. `make test` sets one up (tools/browser.sh)."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(f"no browser on PATH (one of {', '.join(NAMES)}); tools/browser.sh installs one")
    return found


class Browser:
    """One browser; `view` opens a page in a fresh tab."""

    def __init__(self, profile):
        down_read, self._write = os.pipe()
        self._read, up_write = os.pipe()

        def wire():  # Chromium reads commands from 3 and writes answers to 4
            a, b = os.dup(down_read), os.dup(up_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        options = "--headless=new --no-sandbox --disable-gpu --hide-scrollbars --remote-debugging-pipe --no-first-run"
        options += " --blink-settings=primaryHoverType=2,availableHoverTypes=2"  # a pointer that hovers, as on a desk
        command = [chromium(), *options.split(), f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=wire, close_fds=False
        )
        os.close(down_read)
        os.close(up_write)
        self._number, self._rest, self.events = 0, b"", []

    def send(self, method, session=None, **parameters):
        """Send a command and wait for its answer; events that come meanwhile are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + 30
        while time.monotonic() < until:
            answer = self._next(until)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
        raise TimeoutError(method)

    def _next(self, until):
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            part = os.read(self._read, 1 << 20)
            if not part:
                raise ConnectionError("the browser has gone")
            self._rest += part
        text, _, self._rest = self._rest.partition(b"\0")
        message = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def view(self, url, *, width, dark=False):
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return View(self, target, session, url, width, dark)

    def close(self):
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        for end in (self._read, self._write):
            os.close(end)


class View:
    """One page at one width, in light or dark."""

    def __init__(self, browser, target, session, url, width, dark):
        self._browser, self._target, self._session = browser, target, session
        for domain in ("Page", "Network", "Runtime", "Log"):
            self._send(f"{domain}.enable")
        self._send(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        self.scheme("dark" if dark else "light")
        self._send("Page.navigate", url=url)
        until = time.monotonic() + 20
        while self.js("document.readyState") != "complete" or self.js("location.href") != url:
            assert time.monotonic() < until, "the page was not loaded"
            time.sleep(0.02)
        self.js("document.fonts.ready.then(() => true)")

    def _send(self, method, **parameters):
        return self._browser.send(method, self._session, **parameters)

    def resize(self, width):
        """Another width of the window."""
        self._send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def scheme(self, value):
        """Light or dark."""
        self._send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def js(self, expression):
        """The value of an expression in the page, awaited if it is a promise."""
        result = self._send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self._send("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def _events(self, *methods):
        return [
            e["params"] for e in self._browser.events if e.get("sessionId") == self._session and e["method"] in methods
        ]

    @property
    def outside(self):
        """Requests for anything that is not in the file itself."""
        urls = [event["request"]["url"] for event in self._events("Network.requestWillBeSent")]
        return [url for url in urls if not url.startswith(("file:", "data:"))]

    @property
    def complaints(self):
        """Console errors and warnings, exceptions, and what the content policy blocked."""
        said = [e for e in self._events("Runtime.consoleAPICalled") if e["type"] in ("error", "warning", "assert")]
        logged = [e for e in self._events("Log.entryAdded") if e["entry"]["level"] in ("error", "warning")]
        return [*said, *logged, *self._events("Runtime.exceptionThrown")]

    def screenshot(self, path):
        from base64 import b64decode

        shot = self._send("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(b64decode(shot["data"]))

    def close(self):
        self._browser.send("Target.closeTarget", targetId=self._target)
