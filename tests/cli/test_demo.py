"""The whole path on one file."""

from __future__ import annotations

import subprocess
import sys

import anndata as ad
import matplotlib.image
import numpy as np
import pytest

from samples import cells
from skeltraj._cli.main import main


def test_demo_runs_the_whole_path_on_data_that_come_along(tmp_path):
    # as a user does; the package's own warnings are errors here as elsewhere
    command = [sys.executable, "-m", "skeltraj", "demo", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert set(lines) == {"cells", "nodes", "tips", "forks", "rounds", "objective", "root", "seconds", "written"}
    assert lines["cells"] == "640"
    assert int(lines["tips"]) == 5  # the progenitors and four fates
    assert "starts" not in done.stderr  # no bar in a pipe
    assert "Traceback" not in done.stderr
    adata = ad.read_h5ad(tmp_path / "out" / "skeltraj.h5ad")
    assert float(lines["objective"]) == pytest.approx(adata.uns["ddrtree"]["objective"][-1], rel=1e-5)
    fates = adata.obs[adata.obs["cell_type"] != "progenitor"].groupby("cell_type", observed=True)["ddrtree_branch"]
    assert fates.agg(lambda branch: branch.mode()[0]).nunique() == 4
    for name in ("graph", "dendrogram", "objective", "adjacency", "progression"):
        image = matplotlib.image.imread(tmp_path / "out" / f"{name}.png")
        assert image[..., :3].std() > 0.02  # something is drawn


def test_demo_on_a_file(tmp_path, capsys):
    adata = cells(120)
    adata.obsm["mine"] = adata.X[:, ::-1].copy()
    adata.write_h5ad(tmp_path / "cells.h5ad")
    given = [str(tmp_path / "cells.h5ad"), "--use-rep", "mine", "--root", "stage=stem", "--color", "stage"]
    assert main(["demo", *given, "--n-components", "3", "-o", str(tmp_path / "out")]) == 0
    assert "the tip nearest to stage = stem" in capsys.readouterr().out
    back = ad.read_h5ad(tmp_path / "out" / "skeltraj.h5ad")
    assert back.uns["ddrtree"]["params"]["use_rep"] == "mine"
    assert back.obsm["X_ddrtree"].shape == (120, 3)
    assert (tmp_path / "out" / "progression.png").exists()


def test_without_a_root_the_guess_is_said(tmp_path, capsys):
    cells(60).write_h5ad(tmp_path / "cells.h5ad")
    assert main(["demo", str(tmp_path / "cells.h5ad"), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr()
    assert "guessed" in said.out
    assert "warning: No root was given" in said.err


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch, capsys):
    # of an earlier call, which may be the file that is read
    out = tmp_path / "skeltraj.h5ad"
    cells(60).write_h5ad(out)

    def broken(self, target, *args, **kwargs):
        target.write_text("half")
        raise OSError("the disk is full")

    monkeypatch.setattr(ad.AnnData, "write_h5ad", broken)
    assert main(["demo", str(out), "--root", "stage=stem", "--out", str(tmp_path)]) == 1
    assert "skeltraj: the disk is full" in capsys.readouterr().err
    assert ad.read_h5ad(out).n_obs == 60


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.h5ad"], "skeltraj: nowhere.h5ad is not a file; wanted an h5ad file."),
        (["text.h5ad"], "text.h5ad cannot be read as h5ad"),
        (["nan.h5ad"], "skeltraj: adata.X holds 1 value(s) that are NaN or infinite, out of 60 x 6"),
        (["cells.h5ad", "--use-rep", "X_umap"], "skeltraj: use_rep='X_umap' is not in adata.obsm. Available: []."),
        (["cells.h5ad", "--root", "stage=stm"], "adata.obs['stage'] has no 'stm'"),
        (["cells.h5ad", "--root", "7000"], "skeltraj: root=7000 is not a node"),
        (["cells.h5ad", "--color", "colour"], "skeltraj: --color colour is neither a column of obs nor a gene"),
        (["cells.h5ad", "--n-components", "50"], "skeltraj: n_components=50 is out of range"),
    ],
)
def test_bad_input_ends_with_one_clear_line(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    adata = cells(60)
    adata.write_h5ad("cells.h5ad")
    adata.X[3, 2] = np.nan
    adata.write_h5ad("nan.h5ad")
    (tmp_path / "text.h5ad").write_text("no h5ad")
    assert main(["demo", *arguments]) == 1
    said = capsys.readouterr()
    last = said.err.strip().splitlines()[-1]
    assert message in last
    assert said.out == ""
    assert not (tmp_path / "skeltraj-demo").exists()
