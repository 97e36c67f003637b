"""A headless Chromium with one tab, driven by Selenium."""

from __future__ import annotations

import json
import shutil
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
)


def find_chromium() -> str | None:
    """The browser, where it and its driver are installed."""
    names = ("chromium", "chromium-browser", "google-chrome") if shutil.which("chromedriver") else ()
    return next((path for name in names if (path := shutil.which(name))), None)


@contextmanager
def chromium(program: str) -> Iterator[Browser]:
    """A browser with a profile of its own, both gone afterwards.   Raises selenium's WebDriverException."""
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = program
    for flag in _FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "WARNING", "performance": "ALL"})
    with Chrome(options, ChromeService(shutil.which("chromedriver"))) as driver:
        yield Browser(driver)


class Browser:
    """One tab.   driver: selenium's Chrome."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def open(self, address: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Load a page at this size, in this colour scheme; wait until it is loaded."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        self._driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self._driver.get("about:blank")  # so that an address that differs behind its # alone is loaded anew
        self.said()
        self.requested()
        self._driver.get(address)

    def said(self) -> list[str]:
        """Errors and warnings of the console, the page and its loads since the last call or `open`."""
        return [entry["message"] for entry in self._driver.get_log("browser")]

    def requested(self) -> list[str]:
        """The addresses that were asked for since the last call or `open`."""
        events = [json.loads(entry["message"])["message"] for entry in self._driver.get_log("performance")]
        return [one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"]

    def evaluate(self, script: str) -> Any:
        """The value of a JavaScript expression, as plain data."""
        return self._driver.execute_script(f"return {script}")

    def picture(self) -> str:
        """What is to be seen, a PNG in base 64."""
        return str(self._driver.get_screenshot_as_base64())

    def press_tab(self) -> None:
        """The Tab key, down and up."""
        from selenium.webdriver import ActionChains, Keys

        ActionChains(self._driver).send_keys(Keys.TAB).perform()
