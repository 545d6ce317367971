"""Open built pages from their folder, as a reader without a network does, and say what is wrong.

    python docs/check.py [FOLDER]

Every public name has a page, pages ask no other machine for anything and report no error, pictures are there, formulas
are set, both ways to search find something, and `llms.txt` names every page. Needs playwright and chromium.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Locator, Page, TimeoutError, sync_playwright

import skeltraj

HERE = Path(__file__).parent
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# what browsers say of pages that are right
_HARMLESS = ("[PST]", "GL Driver Message", "willReadFrequently")


class Reader:
    """A browser that writes down what pages ask for and complain about."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.faults: list[str] = []
        self.at = ""
        page.on("request", lambda request: self._asked(request.url))
        page.on("requestfailed", lambda request: self.fault(f"could not load {request.url}"))
        page.on("pageerror", lambda error: self.fault(f"error: {error}"))
        page.on("console", lambda message: self._said(message.type, message.text))

    def open(self, name: str, query: str = "") -> Page:
        """Open a page of the folder."""
        self.at = name
        if not (self.folder / name).exists():
            self.fault("is not there")
            return self.page
        self.page.goto((self.folder / name).as_uri() + query)
        self.page.wait_for_load_state("load")
        return self.page

    def wait(self, awaited: Locator, fault: str) -> None:
        """Wait until something is seen; it is wrong if that takes too long."""
        try:
            awaited.wait_for()
        except TimeoutError:
            self.fault(fault)

    def fault(self, what: str) -> None:
        """Write down what is wrong with the page."""
        self.faults.append(f"{self.at}: {what}")

    def _asked(self, url: str) -> None:
        if not url.startswith(("file:", "data:", "blob:", "about:")):
            self.fault(f"asked for {url}")

    def _said(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not any(harmless in text for harmless in _HARMLESS):
            self.fault(f"{kind} in the console: {text}")


def public_pages() -> Iterator[str]:
    """The page of each public name."""
    for room in skeltraj.__all__:
        names = getattr(skeltraj, room).__all__
        for name in names:
            clash = any(name.lower() == other.lower() and name != other for other in names) and not name.islower()
            if (room, name) != ("core", "METHODS"):  # on the page of its room
                yield f"api/generated/skeltraj.{room}.{name}{'-class' if clash else ''}.html"


def check_pictures(reader: Reader) -> None:
    """Every function that draws shows what it draws; images are loaded."""
    for name in skeltraj.pl.__all__:
        page = reader.open(f"api/generated/skeltraj.pl.{name}.html")
        sizes = page.evaluate("Array.from(document.querySelectorAll('article img'), image => image.naturalWidth)")
        if not sizes and not page.locator("article iframe.page").count():
            reader.fault("has no picture")
        if 0 in sizes:
            reader.fault("an image is not loaded")


def check_formulas(reader: Reader) -> None:
    """Formulas are set, by MathJax that lies beside the pages."""
    with_formulas = [
        path.relative_to(reader.folder).as_posix()
        for path in sorted(reader.folder.rglob("*.html"))
        if 'class="math notranslate' in path.read_text(encoding="utf-8")
    ]
    if not with_formulas:
        reader.fault("no page has a formula")
    for name in with_formulas[:5]:
        page = reader.open(name)
        written = page.locator("article .math").count()
        reader.wait(page.locator("article .math mjx-container").nth(written - 1), "a formula is not set")
        if page.locator("article mjx-merror").count():
            reader.fault("a formula cannot be read")


def check_search(reader: Reader) -> None:
    """The page of the search, and the field in the side bar that leads to it, find something."""
    page = reader.open("search.html", "?q=pseudotime")
    found = page.locator("#search-results li").first
    reader.wait(found, "finds nothing")
    page = reader.open("index.html")
    page.locator(".search-button, .search-button__button").locator("visible=true").first.click()
    page.locator("input[name=q]").locator("visible=true").first.fill("dendrogram")
    page.keyboard.press("Enter")
    reader.wait(found, "the search field finds nothing")


def check_text(folder: Path) -> list[str]:
    """`llms.txt` names every page that it should."""
    text = folder / "llms.txt"
    if not text.exists():
        return ["llms.txt: is not there"]
    named = text.read_text(encoding="utf-8")
    pages = ("start", "api/tl", "api/generated/skeltraj.tl.order", "methods/index")
    return [f"llms.txt: does not name {page}" for page in pages if f"({page}.html)" not in named]


def check_sources(folder: Path) -> Iterator[str]:
    """No page loads a script, a style, an image or a page from elsewhere."""
    for path in sorted(folder.rglob("*.html")):
        for tag in re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", path.read_text(encoding="utf-8")):
            if re.search(r"""(?:src|href)=["'](?:https?:)?//""", tag):
                yield f"{path.relative_to(folder)}: loads from elsewhere, {tag[:120]}"


def main() -> int:
    """Check the built pages."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "_build" / "html").resolve()
    browser = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        print("no chromium, so pages cannot be opened")
        return 1
    faults = [*check_text(folder), *check_sources(folder)]
    faults += [f"{name}: is not there" for name in public_pages() if not (folder / name).exists()]
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"]).new_page()
        reader = Reader(page, folder)
        for name in (
            "index.html",
            "api/tl.html",
            "gallery/generated/index.html",
            "genindex.html",
            "tutorials/index.html",
            "comparison.html",
        ):
            reader.open(name)
        check_pictures(reader)
        check_formulas(reader)
        check_search(reader)
        for own in sorted(folder.glob("pages/*.html")):
            reader.open(own.relative_to(folder).as_posix())
    print("\n".join(dict.fromkeys(faults + reader.faults)) or "pages open, search and formulas work, without a network")
    return bool(faults or reader.faults)


if __name__ == "__main__":
    sys.exit(main())
