"""`report` on the command line."""

from __future__ import annotations

import pytest

from skeltraj._cli.main import main
from skeltraj.pl._page import section
from skeltraj.pl._page.pictures import Picture


@pytest.fixture
def undrawn(monkeypatch):
    """Pictures are not drawn, which takes a while."""
    monkeypatch.setattr(section, "picture", lambda draw, alt, said, n=0: Picture("data:,", "data:,", 1, 1, alt, said))


def test_a_page_is_written(folder, undrawn, capsys):
    assert main(["report", "ordered.h5ad", "-o", "page.html", "--groupby", "stage", "--genes", "gene1"]) == 0
    assert capsys.readouterr().out.startswith("page.html: 0.")
    text = (folder / "page.html").read_text(encoding="utf-8")
    assert "<title>ordered.h5ad</title>" in text
    assert "grouped by stage." in text


def test_several_columns_in_one_option_or_in_several(folder, undrawn):
    given = ["report", "ordered.h5ad", "-o", "page.HTML", "--groupby", "stage", "--groupby", "ddrtree_branch"]
    assert main(given) == 0
    assert "grouped by stage, ddrtree_branch." in (folder / "page.HTML").read_text(encoding="utf-8")


def test_the_title_is_the_users(folder, undrawn):
    assert main(["report", "ordered.h5ad", "-o", "page.html", "--title", "Blood"]) == 0
    assert "<title>Blood</title>" in (folder / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["raw.h5ad", "-o", "page.html"], "On the command line: python -m skeltraj fit raw.h5ad -o raw_tree.h5ad"),
        (["ordered.h5ad", "-o", "page.h5ad"], "-o page.h5ad: wanted the name of an .html file."),
        (["ordered.h5ad", "-o", "nowhere/page.html"], "there is no folder 'nowhere'"),
        (["ordered.h5ad", "-o", "page.html", "--groupby", "place"], "adata.obs['place'] is numeric"),
        (["ordered.h5ad", "-o", "page.html", "--key", "mine"], "no skeleton is stored as adata.uns['mine']"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(given, message, folder, undrawn, capsys):
    assert main(["report", *given]) == 1
    [line] = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("skeltraj: ")
    assert message in line
    assert not (folder / "page.html").exists()
