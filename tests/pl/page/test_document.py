"""The page around the sections."""

from __future__ import annotations

import builtins
import importlib
import os
import re
import stat

import pandas as pd
import pytest

from skeltraj.pl._page import document
from skeltraj.pl._page.document import Page, page, templates
from skeltraj.pl._page.file import write
from skeltraj.pl._page.section import Section

NASTY = "<script>alert('1')</script> & \"quoted\" </style>"


def whole():
    section = Section("one", "One")
    section.text(NASTY)
    section.heading(NASTY)
    section.warning(NASTY)
    section.facts([(NASTY, NASTY)])
    section.calls([(NASTY, NASTY)])
    section.table(lambda: pd.DataFrame({NASTY: [NASTY], "n": [1]}), NASTY, NASTY)
    return page(NASTY, NASTY, [section], NASTY)


def test_what_comes_from_data_is_escaped():
    text = whole()
    assert text.count("<script>") == text.count("</script>") == 1
    assert text.count("<style>") == text.count("</style>") == 1
    assert "alert('1')" not in text
    assert text.count("&lt;script&gt;alert(&#39;1&#39;)") >= 12


def test_nothing_but_the_pages_own_script_may_run():
    text = whole()
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    [script] = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert document._digest(script) in policy
    assert not re.findall(r'(?:src|href)="(?!data:|#)', text)


def test_a_part_that_cannot_be_made_is_a_warning():
    section = Section("one", "One")

    def broken():
        raise KeyError("no group 'a'")

    section.picture(broken, "A picture", "A picture.")
    section.table(broken, "A table.", "table")
    assert [block.kind for block in section.blocks] == ["warning", "warning"]
    assert section.blocks[0].content == "A picture. This could not be drawn: no group 'a'"
    assert section.blocks[1].content == "A table. This could not be read: no group 'a'"


def test_a_notebook_shows_the_page_in_a_frame():
    text = Page('<p title="a">text</p>')
    assert text == '<p title="a">text</p>'
    shown = text._repr_html_()
    assert 'srcdoc="&lt;p title=&quot;a&quot;&gt;text&lt;/p&gt;"' in shown
    assert 'sandbox="allow-scripts allow-downloads"' in shown
    assert repr(text).startswith("A page of 0.0 MB")


def test_a_file_is_whole_or_not_there(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    write("first شجرة", path)
    assert path.read_text(encoding="utf-8") == "first شجرة"
    plain = tmp_path / "plain"
    plain.write_text("")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)

    def broken(*args):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="the disk is full"):
        write("second", path)
    assert path.read_text(encoding="utf-8") == "first شجرة"
    assert sorted(there.name for there in tmp_path.iterdir()) == ["page.html", "plain"]


def test_letters_that_no_file_can_hold(tmp_path):
    write("half \ud800 a letter", tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == "half ? a letter"


def test_without_jinja2_the_message_says_how_to_install_it(monkeypatch):
    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr(document, "import_module", refuse)
    with pytest.raises(ImportError, match=r"skeltraj\.pl\.report needs jinja2\. Install it with: python"):
        templates()


def test_the_parts_of_the_page_come_with_the_package():
    assert importlib.resources.files("skeltraj.pl._page").joinpath("page.html").is_file()
    assert builtins.len(document._file("page.js")) > 500
