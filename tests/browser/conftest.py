"""A page in headless Chromium, for what only a browser can show."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# without a display and a graphics card; WebGL is drawn by SwiftShader, which comes with Chromium
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


class BrowserPage:
    """A page of the browser. `page` is playwright's; what went wrong and what was asked for is noted down."""

    def __init__(self, page):
        self.page = page
        self.errors, self.requests = [], []
        page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, path):
        """Open a file, and wait until its scripts have run."""
        self.address = Path(path).resolve().as_uri()
        self.page.goto(self.address, wait_until="load")
        return self.page

    def assert_quiet(self):
        """The page has had no error and has asked for nothing but itself."""
        assert not self.errors
        assert [url for url in self.requests if not url.startswith((self.address, "data:", "blob:"))] == []


def _missing(what):
    if os.environ.get("SKELTRAJ_REQUIRE_BROWSER"):
        pytest.fail(f"{what}, and SKELTRAJ_REQUIRE_BROWSER asks for it")
    pytest.skip(what)


# Not for the whole session: while playwright runs, its event loop is in the way of others in the same thread.
@pytest.fixture(scope="module")
def _chromium():
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        _missing(f"there is no browser ({', '.join(NAMES)})")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("playwright is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def browser_page(_chromium):
    """A `BrowserPage` without a network; after the test it must have been quiet."""
    context = _chromium.new_context(viewport={"width": 900, "height": 700}, offline=True)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.set_default_timeout(60_000)  # of a loaded machine
    opened = BrowserPage(context.new_page())
    yield opened
    context.close()
    opened.assert_quiet()
