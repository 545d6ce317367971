"""What is kept on disk: in files without names, which go with the process, and a disk that is full."""

from __future__ import annotations

import errno
import gc
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from samples import forked
from skeltraj import core
from skeltraj.core._data import temporary_files
from skeltraj.core._data.temporary_files import TemporaryFile

dask = pytest.importorskip("dask", reason="dask is not installed (pip install 'skeltraj[dask]')")
da = pytest.importorskip("dask.array")


@pytest.fixture
def made(monkeypatch):
    """Everything is kept in files; how many there are."""
    there, first = [], TemporaryFile.__init__

    def noted(self):
        first(self)
        there.append(self._file)

    monkeypatch.setattr(TemporaryFile, "__init__", noted)
    monkeypatch.setattr(temporary_files, "_IN_MEMORY_BYTES", 0)
    return lambda: sum(not file.closed for file in there)


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
@pytest.mark.parametrize("how", [{}, {"extrapolate": True}, {"least_weight": 1e-4}])
def test_much_that_is_kept_goes_to_files_that_go_in_the_end(scheduler, how, monkeypatch, tmp_path, made):
    X = forked(600, 6)[0]
    lazy = da.from_array(X, chunks=(100, 6))
    options = dict(n_nodes=40, max_iter=8, tol=0, **how)
    seen = []
    with dask.config.set({"scheduler": scheduler, "temporary-directory": str(tmp_path)}):
        with monkeypatch.context() as patch:
            patch.setattr(temporary_files, "_IN_MEMORY_BYTES", 1 << 27)
            wanted = core.ddrtree(lazy, **options)
            smooth_wanted = core.denoise(lazy, 3).values
        assert made() == 0
        fit = core.ddrtree(lazy, **options, callback=lambda *_: seen.append((made(), list(tmp_path.iterdir()))))
        np.testing.assert_array_equal(fit.embedding.compute(), wanted.embedding.compute())
        assert (fit.assignment.compute() != wanted.assignment.compute()).nnz == 0
        n_files, names = zip(*seen, strict=True)
        assert 1 <= min(n_files) <= max(n_files) <= 3  # of this round, and of a try
        assert not any(names)
        cloudpickle = pytest.importorskip("cloudpickle")  # comes with dask
        apart = cloudpickle.dumps(fit.embedding)
        del fit
        gc.collect()
        assert made() == 0
        np.testing.assert_array_equal(cloudpickle.loads(apart).compute(), wanted.embedding.compute())
        smooth = core.denoise(lazy, 3).values
        np.testing.assert_array_equal(smooth.compute(), smooth_wanted.compute())
        assert made() == 1
        del smooth
        gc.collect()
        assert made() == 0


@pytest.mark.parametrize("has_places", [True, False])
def test_arrays_come_back_as_they_were(has_places, monkeypatch):
    if has_places and not hasattr(os, "pread"):
        pytest.skip("this system reads files from one place to the next")
    monkeypatch.setattr(temporary_files, "_HAS_PLACES", has_places)
    monkeypatch.setattr(temporary_files, "_AT_ONCE", 50)  # in many parts
    file = TemporaryFile()
    arrays = [np.arange(60.0).reshape(6, 10).T, np.empty((0, 4)), np.ones((7, 3), np.float32), np.arange(3)]
    for kept, values in [(file.keep(values), values) for values in arrays]:
        back = kept.load()
        np.testing.assert_array_equal(back, values)
        assert (back.dtype, back.flags.writeable) == (values.dtype, True)


ENDED = """
import os, sys
import dask, dask.array as da, numpy as np
from skeltraj import core
from skeltraj.core._data import temporary_files
temporary_files._IN_MEMORY_BYTES = 0
rng = np.random.default_rng(0)
X = np.arange(300)[:, None] * np.array([1.0, 2.0, 0.5]) + rng.standard_normal((300, 3))

def end(iteration, objective):
    if iteration == 1:
        print("kept", sum(os.path.realpath(f"/proc/self/fd/{fd}").startswith(sys.argv[1])
                          for fd in os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 1, flush=True)
        os.kill(os.getpid(), int(sys.argv[2]))

with dask.config.set({"temporary-directory": sys.argv[1]}):
    core.ddrtree(da.from_array(X, chunks=(100, 3)), n_nodes=10, max_iter=3, callback=end)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no such signals")
@pytest.mark.parametrize("by", ["SIGTERM", "SIGKILL", "SIGINT"])
def test_a_process_that_is_ended_leaves_no_files(by, tmp_path):
    number = getattr(signal, by)
    command = [sys.executable, "-c", ENDED, str(tmp_path), str(int(number))]
    # what is started in the background ignores interrupts, and so would what it starts
    heeded = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    process = subprocess.run(command, capture_output=True, text=True, preexec_fn=heeded)
    assert process.stdout.startswith("kept ")
    assert process.stdout.split() != ["kept", "0"]
    assert process.returncode in (-number, 1)
    assert not list(tmp_path.iterdir())


FORKED = """
import os, sys
import dask, numpy as np
from skeltraj.core._data.temporary_files import TemporaryFile
with dask.config.set({"temporary-directory": sys.argv[1]}):
    kept = TemporaryFile().keep(np.arange(3.0))
child = os.fork()
if child == 0:
    sys.exit(int(kept.load().sum() != 3))
assert os.waitpid(child, 0)[1] == 0
assert kept.load().sum() == 3
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_leaves_the_files_to_its_parent(tmp_path):
    folder = tmp_path / "made when it is needed"
    subprocess.run([sys.executable, "-c", FORKED, str(folder)], check=True)
    assert not list(folder.iterdir())


def full(after):
    """A disk on which so many bytes have room."""

    def write(fd, values, start):
        if start >= after:
            raise OSError(errno.ENOSPC, "No space left on device")
        return os_write(fd, values[: after - start], start)

    os_write = os.pwrite
    return write


@pytest.mark.skipif(not hasattr(os, "pwrite"), reason="this system writes files from one place to the next")
def test_a_full_disk_is_named_and_what_to_do(monkeypatch, tmp_path, made):
    lazy = da.from_array(forked(600, 6)[0], chunks=(100, 6))
    monkeypatch.setattr(os, "pwrite", full(after=3000))
    said = rf"{tmp_path} has no room for .*after 1,600 bytes, 1,600 more.*dask\.config\.set\(.*'temporary-directory'"
    with dask.config.set({"scheduler": "synchronous", "temporary-directory": str(tmp_path)}):
        with pytest.raises(OSError, match=said) as caught:
            core.ddrtree(lazy, n_nodes=40)
    assert caught.value.errno == errno.ENOSPC
    del caught
    gc.collect()
    assert made() == 0


@pytest.mark.skipif(not hasattr(os, "pwrite"), reason="this system writes files from one place to the next")
def test_other_errors_of_writing_are_left_as_they_are(monkeypatch):
    def broken(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "pwrite", broken)
    with pytest.raises(OSError, match=r"^\[Errno \d+\] Input/output error$"):
        TemporaryFile().keep(np.ones(3))


def test_a_file_that_was_cut_is_noticed(tmp_path):
    file = TemporaryFile()
    kept = file.keep(np.ones(10))
    file._file.truncate(30)
    with pytest.raises(OSError, match=r"ends at 30 bytes; wanted 50 more"):
        kept.load()
