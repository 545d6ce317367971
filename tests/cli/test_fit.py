"""`fit` on the command line."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pytest

from samples import cells
from skeltraj import tl
from skeltraj._cli.main import main

QUICK = ["--n-components", "2", "--n-nodes", "12", "--denoise", "no", "--prune", "no", "--n-starts", "1"]


def test_fit_is_that_of_the_function(folder, capsys):
    assert main(["fit", "raw.h5ad", "-o", "out.h5ad", *QUICK, "--seed", "3", "--lam", "2.5"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("out.h5ad: ddrtree, 80 cells, 12 nodes, ")
    assert said.err == ""  # no bar where nobody sees it
    expected = cells(80)
    tl.ddrtree(expected, 2, n_nodes=12, denoise=False, prune=False, n_starts=1, rng=3, lam=2.5)
    back = ad.read_h5ad("out.h5ad")
    np.testing.assert_array_equal(back.uns["ddrtree"]["nodes"], expected.uns["ddrtree"]["nodes"])
    assert "ddrtree" not in ad.read_h5ad("raw.h5ad").uns
    assert sorted(path.name for path in folder.iterdir()) == ["ordered.h5ad", "out.h5ad", "raw.h5ad"]


def test_other_methods_and_names(folder, capsys):
    given = ["fit", "raw.h5ad", "-o", "out.h5ad", "--method", "principal_tree", "--n-nodes", "10"]
    assert main([*given, "--key-added", "mine", "--n-starts", "1"]) == 0
    back = ad.read_h5ad("out.h5ad")
    assert back.uns["mine"]["params"]["method"] == "principal_tree"
    assert "mine, 80 cells" in capsys.readouterr().out


def test_an_argument_that_the_method_has_not(folder, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["fit", "raw.h5ad", "-o", "out.h5ad", "--method", "drtree", "--n-nodes", "10"])
    assert stopped.value.code == 2
    assert "--n-nodes is no argument of drtree" in capsys.readouterr().err
    assert not (folder / "out.h5ad").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--n-nodes", "many"], "n_nodes='many'"),
        (["--preset", "monocle3"], "preset='monocle3'"),
        (["--use-rep", "X_umap"], "use_rep='X_umap' is not in adata.obsm"),
        (["--key-added", ""], "key_added='' cannot name a fit"),
    ],
)
def test_bad_values_end_with_one_line_and_write_nothing(given, message, folder, capsys):
    assert main(["fit", "raw.h5ad", "-o", "out.h5ad", *given]) == 1
    [line] = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("skeltraj: ")
    assert message in line
    assert not (folder / "out.h5ad").exists()
