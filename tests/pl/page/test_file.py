"""Files that are written whole."""

from __future__ import annotations

import pytest

from skeltraj.pl._page.file import target_of, write


def test_a_link_stays_one(tmp_path):
    (tmp_path / "pages").mkdir()
    link = tmp_path / "page.html"
    link.symlink_to(tmp_path / "pages" / "today.html")
    for text in ("one", "two"):
        write(text, link)
        assert link.is_symlink()
        assert link.read_text() == text
    assert [file.name for file in (tmp_path / "pages").iterdir()] == ["today.html"]


@pytest.mark.parametrize("name", ["page.pdf", "page.PNG"])
def test_a_page_is_no_picture(tmp_path, name):
    with pytest.raises(ValueError, match=rf"save='.*{name}' is called a picture, and what is written is HTML"):
        target_of(tmp_path / name, "save")
    assert target_of(tmp_path / "page", "save") == tmp_path / "page"
