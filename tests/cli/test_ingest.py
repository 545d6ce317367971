"""`ingest` on the command line."""

from __future__ import annotations

import anndata as ad
import numpy as np

from samples import cells
from skeltraj._cli.main import main


def test_cells_of_the_reference_get_their_own_places(folder, capsys):
    cells(80)[::2].copy().write_h5ad("new.h5ad")
    assert main(["ingest", "new.h5ad", "ordered.h5ad", "-o", "out.h5ad", "--quantile", "0.9"]) == 0
    back, reference = ad.read_h5ad("out.h5ad"), ad.read_h5ad("ordered.h5ad")
    np.testing.assert_array_equal(back.obs["ddrtree_pseudotime"], reference.obs["ddrtree_pseudotime"][::2])
    assert back.uns["ddrtree"]["ingested"]["quantile"] == 0.9
    far = int(back.obs["ddrtree_far"].sum())
    assert f"out.h5ad: 40 cells placed, {far} of them unlike" in capsys.readouterr().out


def test_a_reference_without_a_tree(folder, capsys):
    assert main(["ingest", "raw.h5ad", "raw.h5ad", "-o", "out.h5ad"]) == 1
    assert "no skeleton is stored" in capsys.readouterr().err
    assert not (folder / "out.h5ad").exists()
