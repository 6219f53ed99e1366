"""Headless Chromium, spoken to over its debugging pipe: no driver, no port, no package of its own."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

BINARIES = ("chromium", "chromium-browser", "google-chrome")

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe"),
)


def binary() -> str | None:
    """The browser to use: ``$CHROMIUM``, or one that is on the path."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BINARIES)), None)


LAUNCHER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
"""Puts the pipes where the browser expects them: it reads descriptor 3 and writes 4."""


class Browser:
    """One page in a browser of its own. Use it as a context."""

    def __init__(self, profile: Path) -> None:
        (there, own_out), (own_in, back) = _pipe(), _pipe()
        browser = [binary() or BINARIES[0], *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, str(there), str(back), *browser],
            pass_fds=(there, back),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(there)
        os.close(back)
        self.requests, self.answers = os.fdopen(own_out, "wb"), os.fdopen(own_in, "rb")
        self.waiting = b""
        self.number = 0
        self.session: str | None = None
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        targets = self.ask("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        self.ask("Page.enable")
        self.ask("Network.enable")
        return self

    def __exit__(self, *error: object) -> None:
        self.session = None
        try:
            self.ask("Browser.close")
            self.process.wait(10)
        except (OSError, EOFError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.requests.close()
        self.answers.close()

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events on the way are kept."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.requests.write(json.dumps(message).encode() + b"\0")
        self.requests.flush()
        while (found := self._read()).get("id") != self.number:
            self.events.append(found)
        assert "error" not in found, found
        return found["result"]

    def open(self, url: str, width: int, height: int = 900, scheme: str = "light") -> None:
        """Load a page in a window of this size, and wait until all of it is there."""
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.ask("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())

    def value(self, expression: str) -> Any:
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def requested(self) -> list[str]:
        """Addresses that were asked for since the page was opened."""
        return [
            event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"
        ]

    def screenshot(self, file: Path, **clip: float) -> None:
        """A picture of the window, or of a part of the page given by x, y, width and height."""
        options: dict[str, Any] = {"clip": {**clip, "scale": 1}, "captureBeyondViewport": True} if clip else {}
        file.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", **options)["data"]))

    def printed(self, **options: Any) -> bytes:
        return base64.b64decode(self.ask("Page.printToPDF", **options)["data"])

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self.waiting:
            part = self.answers.read1(1 << 20)
            if not part:
                raise EOFError("the browser has gone")
            self.waiting += part
        message, _, self.waiting = self.waiting.partition(b"\0")
        return json.loads(message)


def _pipe() -> tuple[int, int]:
    """A pipe on descriptors that are clear of the two the browser uses."""
    ends = os.pipe()
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return moved[0], moved[1]
