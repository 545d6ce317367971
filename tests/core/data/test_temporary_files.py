"""What is kept on disk, and that it goes in the end."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

from samples import forked
from skeltraj import core
from skeltraj.core._data import temporary_files

dask = pytest.importorskip("dask", reason="dask is not installed (pip install 'skeltraj[dask]')")
da = pytest.importorskip("dask.array")


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
@pytest.mark.parametrize("extrapolate", [False, True])
def test_much_that_is_kept_goes_to_files_that_go_in_the_end(scheduler, extrapolate, monkeypatch, tmp_path):
    X = forked(600, 6)[0]
    lazy = da.from_array(X, chunks=(100, 6))
    options = dict(n_nodes=40, max_iter=8, tol=0, extrapolate=extrapolate)
    seen = []
    files = lambda *_: seen.append(len(list(tmp_path.iterdir())))
    with dask.config.set({"scheduler": scheduler, "temporary-directory": str(tmp_path)}):
        wanted = core.ddrtree(lazy, **options)
        smooth_wanted = core.denoise(lazy, 3).values
        assert not list(tmp_path.iterdir())
        monkeypatch.setattr(temporary_files, "_IN_MEMORY_BYTES", 0)
        fit = core.ddrtree(lazy, **options, callback=files)
        np.testing.assert_array_equal(fit.embedding.compute(), wanted.embedding.compute())
        assert (fit.assignment.compute() != wanted.assignment.compute()).nnz == 0
        assert 6 <= min(seen) <= max(seen) <= 18  # the six blocks of this round, and of a try
        cloudpickle = pytest.importorskip("cloudpickle")  # comes with dask
        apart = cloudpickle.dumps(fit.embedding)
        del fit
        gc.collect()
        assert not list(tmp_path.iterdir())
        np.testing.assert_array_equal(cloudpickle.loads(apart).compute(), wanted.embedding.compute())
        smooth = core.denoise(lazy, 3).values
        np.testing.assert_array_equal(smooth.compute(), smooth_wanted.compute())
        assert len(list(tmp_path.iterdir())) == 6
        del smooth
        gc.collect()
        assert not list(tmp_path.iterdir())


FORKED = """
import os, sys
import dask, numpy as np
from skeltraj.core._data.temporary_files import OnDisk
with dask.config.set({"temporary-directory": sys.argv[1]}):
    kept = OnDisk(np.arange(3.0))
child = os.fork()
if child == 0:
    sys.exit(0)
os.waitpid(child, 0)
assert kept.load().sum() == 3
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_leaves_the_files_to_its_parent(tmp_path):
    folder = tmp_path / "made when it is needed"
    subprocess.run([sys.executable, "-c", FORKED, str(folder)], check=True)
    assert not list(folder.iterdir())
