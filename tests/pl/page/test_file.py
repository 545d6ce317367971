"""Files that are written whole."""

from __future__ import annotations

from skeltraj.pl._page.file import write


def test_a_link_stays_one(tmp_path):
    (tmp_path / "pages").mkdir()
    link = tmp_path / "page.html"
    link.symlink_to(tmp_path / "pages" / "today.html")
    for text in ("one", "two"):
        write(text, link)
        assert link.is_symlink()
        assert link.read_text() == text
    assert [file.name for file in (tmp_path / "pages").iterdir()] == ["today.html"]
