"""A headless Chromium for the tests of the report: one for all of them."""

import json
import pathlib
import shutil
import tempfile
import time
import unittest

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = Keys = None

PATIENCE = 20  # seconds that anything may take

FLAGS = """--headless=new --no-sandbox --disable-gpu --disable-background-networking --disable-component-update
--disable-sync --disable-extensions --disable-dev-shm-usage --no-first-run --hide-scrollbars
--force-color-profile=srgb""".split()


class Browser:
    """The queries that the tests make of a page; they run JavaScript for what WebDriver does not offer"""

    def __init__(self):
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        driver = shutil.which("chromedriver")
        if not (webdriver and chromium and driver):
            raise unittest.SkipTest("needs chromium, chromium-driver and python3-selenium")
        self.profile = tempfile.TemporaryDirectory(prefix="cpodes-browser-")
        options = Options()
        options.binary_location = chromium
        for flag in FLAGS + [f"--user-data-dir={self.profile.name}"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(driver), options=options)

    def close(self):
        self.driver.quit()
        self.profile.cleanup()

    def media(self, media="", scheme="light", motion="no-preference"):
        features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": motion}
        listed = [{"name": name, "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": listed})

    def size(self, width=1200, height=900):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def open(self, path):
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(pathlib.Path(path).as_uri())

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """The addresses that have been requested since the page was opened"""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def press(self, selector, *keys):
        self.find(selector).send_keys(*keys)

    def is_shown(self, selector):
        return self.run("const e = document.querySelector(arguments[0]); return !!e && e.checkVisibility()", selector)

    def picture(self):
        """The content of the animation, once it has drawn the requested state: pictures are equal or not"""
        drawn = self.driver.execute_async_script(
            "const done = arguments[0], canvas = document.getElementById('canvas');"
            "requestAnimationFrame(() => requestAnimationFrame(() => done(canvas.toDataURL())))"
        )
        return hash(drawn)

    def time(self):
        """The position of the animation, in thousandths of the motion"""
        return int(self.run("return document.getElementById('time').value"))

    @staticmethod
    def until(condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True
