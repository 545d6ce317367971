"""Files that the commands read."""

import pytest

from samples import cells
from skeltraj import tl


@pytest.fixture(scope="session")
def _ordered():
    adata = cells(80)
    tl.ddrtree(adata, 2, n_nodes=12, denoise=False, prune=False, n_starts=1)
    tl.order(adata, {"stage": "stem"})
    return adata


@pytest.fixture
def folder(tmp_path, monkeypatch, _ordered):
    """The folder in which the commands run, with `raw.h5ad`, and `ordered.h5ad`: the same cells with a tree."""
    monkeypatch.chdir(tmp_path)
    cells(80).write_h5ad("raw.h5ad")
    _ordered.write_h5ad("ordered.h5ad")
    return tmp_path
