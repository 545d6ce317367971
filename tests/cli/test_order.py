"""`order` on the command line."""

from __future__ import annotations

import anndata as ad

from skeltraj._cli import order
from skeltraj._cli.main import main


def test_order_by_a_category(folder, capsys):
    assert main(["order", "ordered.h5ad", "-o", "out.h5ad", "--root", "stage=left"]) == 0
    assert "the tip nearest to stage = left." in capsys.readouterr().out
    record = ad.read_h5ad("out.h5ad").uns["ddrtree"]["order"]
    assert record["root_rule"] == "the tip nearest to stage = left"
    assert ad.read_h5ad("ordered.h5ad").uns["ddrtree"]["order"]["root_rule"] == "the tip nearest to stage = stem"


def test_file_and_out_may_be_the_same(folder):
    assert main(["order", "ordered.h5ad", "-o", "ordered.h5ad", "--root", "T2"]) == 0
    record = ad.read_h5ad("ordered.h5ad").uns["ddrtree"]["order"]
    assert record["root"] == record["tips"]["node"]["T2"]


def test_without_a_root_the_guess_is_said(folder, capsys):
    assert main(["order", "ordered.h5ad", "-o", "out.h5ad"]) == 0
    assert "warning: No root was given" in capsys.readouterr().err


def test_warnings_are_told_where_the_command_fails_as_well(folder, capsys, monkeypatch):
    def full(*_):
        raise OSError("no space is left")

    monkeypatch.setattr(order, "write", full)
    assert main(["order", "ordered.h5ad", "-o", "out.h5ad"]) == 1
    warned, failed = capsys.readouterr().err.splitlines()
    assert warned.startswith("warning: No root was given")
    assert failed == "skeltraj: no space is left"


def test_cells_without_a_fit(folder, capsys):
    assert main(["order", "raw.h5ad", "-o", "out.h5ad"]) == 1
    assert "skeltraj: no skeleton is stored as adata.uns['ddrtree']" in capsys.readouterr().err
    assert not (folder / "out.h5ad").exists()
