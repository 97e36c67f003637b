"""A headless Chromium, spoken to over a pipe (Chrome DevTools Protocol), by the standard library alone."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)


_START = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(one), fcntl.F_DUPFD, 10) for one in sys.argv[1:3]]
for end, place in zip(ends, (3, 4)):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Runs a program whose pipes are file descriptors 3 and 4, as the protocol wants them."""


class BrowserError(RuntimeError):
    """The browser did not start, did not answer, or refused a command."""


def find_chromium() -> str | None:
    """The program, where there is one."""
    return next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )


@contextmanager
def chromium(program: str, *, seconds: float = 30) -> Iterator[Browser]:
    """A browser with one tab and a profile of its own, both gone afterwards.

    seconds: that one command may take.   Raises BrowserError.
    """
    to_browser, from_browser = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(prefix="ldp-audit-browser-", ignore_cleanup_errors=True) as profile:
        ends = [str(to_browser[0]), str(from_browser[1])]
        command = [sys.executable, "-ISc", _START, *ends, program, *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(to_browser[0], from_browser[1]),
        )
        os.close(to_browser[0])
        os.close(from_browser[1])
        try:
            yield Browser(to_browser[1], from_browser[0], seconds)
        finally:
            os.close(to_browser[1])
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(from_browser[0])


class Browser:
    """One tab.

    said: what the console, the page's errors and failed loads said since the last `open`.
    """

    def __init__(self, to_browser: int, from_browser: int, seconds: float) -> None:
        self._to, self._from, self._seconds = to_browser, from_browser, seconds
        self._rest, self._last = b"", 0
        self._loaded: set[str] = set()
        self.said: list[str] = []
        self.requested: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = ""
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    _session = ""

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a command. Raises BrowserError."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        try:
            os.write(self._to, json.dumps(message).encode() + b"\0")
        except OSError as error:
            raise BrowserError(f"the browser is gone: {error}") from error
        end = time.monotonic() + self._seconds
        while True:
            heard = self._read(end)
            if heard.get("id") == self._last:
                break
        if "error" in heard:
            raise BrowserError(f"{method}: {heard['error'].get('message')}")
        return heard["result"]

    def open(self, address: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Load a page at this size, in this colour scheme; wait until it is loaded."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        phone = width < 600
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self._go("about:blank")  # so that an address that differs behind its # alone is loaded anew
        self.said.clear()
        self.requested.clear()
        self._go(address)

    def _go(self, address: str) -> None:
        found = self.call("Page.navigate", url=address)
        if "errorText" in found:
            raise BrowserError(f"{address}: {found['errorText']}")
        end = time.monotonic() + self._seconds
        while found["loaderId"] not in self._loaded:
            self._read(end)

    def evaluate(self, script: str) -> Any:
        """What an expression gives, as plain data. Raises BrowserError where it throws."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise BrowserError(f"{found['exceptionDetails'].get('text')}: {found['result'].get('description')}")
        return found["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """One key, down and up."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def _read(self, end: float) -> dict[str, Any]:
        """The next message; what it says of the page is kept."""
        while b"\0" not in self._rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._from], [], [], left)[0]:
                raise BrowserError(f"the browser did not answer in {self._seconds:g} s")
            piece = os.read(self._from, 1 << 16)
            if not piece:
                raise BrowserError("the browser ended")
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\0")
        heard = json.loads(line)
        self._heard(heard.get("method", ""), heard.get("params", {}))
        return heard

    def _heard(self, method: str, about: dict[str, Any]) -> None:
        if method == "Page.lifecycleEvent" and about["name"] == "load":
            self._loaded.add(about["loaderId"])
        elif method == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.said.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.said.append(f"{about['type']}: {[one.get('value') for one in about['args']]}")
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.said.append(f"{about['entry']['text']} {about['entry'].get('url', '')}".strip())
        elif method == "Network.loadingFailed":
            self.said.append(f"not loaded: {about['errorText']}")
        elif method == "Network.requestWillBeSent":
            self.requested.append(about["request"]["url"])
