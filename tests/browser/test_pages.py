"""What the tests of pages rest on: errors and requests of a page are noticed."""

from __future__ import annotations

import pytest


def test_a_page_is_opened_and_quiet(browser_page, tmp_path):
    path = tmp_path / "a page.html"
    path.write_text("<p>here</p><script>console.log('nothing')</script>")
    assert browser_page.open(path).inner_text("p") == "here"
    browser_page.assert_quiet()


@pytest.mark.parametrize("script", ["throw Error('wrong')", "console.error('wrong')"])
def test_errors_are_noticed(browser_page, tmp_path, script):
    path = tmp_path / "page.html"
    path.write_text(f"<script>{script}</script>")
    browser_page.open(path)
    with pytest.raises(AssertionError, match="wrong"):
        browser_page.assert_quiet()
    browser_page.errors.clear()


def test_requests_are_noticed(browser_page, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("<img src='https://example.org/a.png'>")
    browser_page.open(path)
    with pytest.raises(AssertionError, match=r"https://example\.org/a\.png|ERR_"):
        browser_page.assert_quiet()
    assert browser_page.requests.pop() == "https://example.org/a.png"
    browser_page.errors.clear()


def test_webgl_is_there(browser_page, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("<canvas></canvas>")
    page = browser_page.open(path)
    assert page.evaluate("!!document.querySelector('canvas').getContext('webgl')")
