"""Files that are read and written by the commands."""

from __future__ import annotations

import re
import warnings

import anndata as ad
import numpy as np
import pytest

from samples import cells
from skeltraj._cli.files import check_out, read, write
from skeltraj._cli.main import main


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", [".h5ad", ".zarr"])
def test_written_and_read(kind, here):
    adata = cells(20)
    path = here / f"cells{kind}"
    for times in (1, 2):  # the second time in the place of the first
        adata.obs["times"] = times
        write(adata, check_out(str(path)))
        back = read(str(path))
        np.testing.assert_array_equal(back.X, adata.X)
        assert (back.obs["times"] == times).all()
    assert [there.name for there in here.iterdir()] == [path.name]


@pytest.mark.parametrize("kind", [".h5ad", ".zarr"])
def test_a_link_stays_one(kind, here):
    store, link = here / "store", here / f"cells{kind}"
    store.mkdir()
    link.symlink_to(store / "data", target_is_directory=kind == ".zarr")
    for n in (20, 30):
        write(cells(n), check_out(str(link)))
        assert link.is_symlink()
        assert read(str(link)).n_obs == n
    assert [there.name for there in store.iterdir()] == ["data"]


@pytest.mark.parametrize("kind", [".h5ad", ".zarr"])
def test_a_failed_write_leaves_what_was_there(kind, here, monkeypatch):
    adata = cells(20)
    path = here / f"cells{kind}"
    write(adata, path)

    def broken(self, target, *args, **kwargs):
        (target if kind == ".h5ad" else target.parent / "part").write_text("half")
        raise OSError("the disk is full")

    monkeypatch.setattr(ad.AnnData, f"write_{kind[1:]}", broken)
    with pytest.raises(OSError, match="the disk is full"):
        write(cells(30), path)
    assert read(str(path)).n_obs == 20
    assert [there.name for there in here.iterdir()] == [path.name]


def test_zarr_on_the_command_line(here, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells(60).write_zarr("raw.zarr")
    quick = ["--n-components", "2", "--n-nodes", "8", "--denoise", "no", "--prune", "no", "--n-starts", "1"]
    assert main(["fit", "raw.zarr", "-o", "fitted.h5ad", *quick]) == 0
    assert main(["order", "fitted.h5ad", "-o", "ordered.zarr", "--root", "stage=stem"]) == 0
    assert "ddrtree_pseudotime" in ad.read_zarr("ordered.zarr").obs
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.txt", r"-o out\.txt ends in '\.txt'; wanted one of \['\.h5ad', '\.zarr'\]\."),
        ("out", r"-o out ends in ''; wanted one of"),
        ("nowhere/out.h5ad", r"-o nowhere/out\.h5ad: there is no folder nowhere\."),
        ("folder.h5ad", r"-o folder\.h5ad is a folder; wanted the name of an h5ad file\."),
        ("letters.zarr", r"-o letters\.zarr is there and is no zarr store; wanted another name\."),
        ("text.zarr", r"-o text\.zarr is there and is no zarr store"),
    ],
)
def test_where_nothing_can_be_written(name, message, here):
    (here / "folder.h5ad").mkdir()
    (here / "letters.zarr").mkdir()
    (here / "letters.zarr" / "letter.txt").write_text("dear")
    (here / "text.zarr").write_text("no zarr")
    with pytest.raises((OSError, ValueError), match=message):
        check_out(name)
    assert (here / "letters.zarr" / "letter.txt").read_text() == "dear"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.h5ad", "nowhere.h5ad is not a file; wanted an h5ad file."),
        ("nowhere.zarr", "nowhere.zarr is not a folder; wanted a zarr store."),
        ("text.h5ad", "text.h5ad cannot be read as h5ad: "),
        ("empty.zarr", "empty.zarr cannot be read as zarr: "),
    ],
)
def test_what_cannot_be_read(name, message, here):
    (here / "text.h5ad").write_text("no h5ad")
    (here / "empty.zarr").mkdir()
    with pytest.raises(OSError, match=re.escape(message)):
        read(name)
