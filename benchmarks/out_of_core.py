"""Peak memory of a fit of a dask array, over the number of cells and the size of a block.

    python benchmarks/out_of_core.py [--cells 500000 1000000 4000000] [--block 50000] [--components 20] [--rounds 5]

The data, the noisy tree of ddrtree_speed.py with 50 features as float32, stand in a zarr array on disk and are
denoised and fitted by dask's threads in a process of its own for each size. What is printed is the peak of the
process's own memory (VmHWM on Linux) beyond what it held before, beside the sizes of the data, of a block, of the
embedding and of the denoised rows.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from ddrtree_speed import forget_peak, peak_mib, write_tree

MIB = 1 << 20


def fit_once(path: str, d: int, rounds: int, sharp: bool) -> None:
    """Print the peak of a fit."""
    import dask.array as da

    from skeltraj import core

    X = da.from_zarr(path)
    small = X[: X.chunks[0][0] // 10].compute()
    core.ddrtree(small, d, max_iter=2, tol=0)  # compiles
    core.denoise(small)
    forget_peak()
    before = peak_mib()
    values = X if sharp else core.denoise(X).values
    core.ddrtree(values, d, max_iter=rounds, tol=0)
    print(peak_mib() - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs="+", default=[500_000, 1_000_000, 4_000_000])
    parser.add_argument("--block", type=int, default=50_000)
    parser.add_argument("--components", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--sharp", action="store_true", help="do not denoise")
    given = parser.parse_args()
    if given.one:
        return fit_once(given.one, given.components, given.rounds, given.sharp)
    import zarr

    print("| cells | data, MiB | a block | embedding | denoised | peak, MiB |\n|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for n in given.cells:
            raw, path = Path(folder) / "raw", Path(folder) / f"{n}.zarr"
            write_tree(raw, n, 50, given.components)
            X = np.memmap(raw, np.float64, mode="r", shape=(n, 50))
            out = zarr.open(str(path), mode="w", shape=(n, 50), chunks=(given.block, 50), dtype="f4")
            for first in range(0, n, given.block):
                out[first : first + given.block] = X[first : first + given.block].astype(np.float32)
            del X
            raw.unlink()
            options = ["--components", given.components, "--rounds", given.rounds, "--one", path]
            options += ["--sharp"] if given.sharp else []
            command = [sys.executable, __file__, *map(str, options)]
            peak = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            sizes = [4 * 50 * n, 4 * 50 * given.block, 8 * given.components * n, 0 if given.sharp else 4 * 30 * n]
            print(f"| {n:,} | " + " | ".join(f"{size / MIB:,.0f}" for size in sizes) + f" | {peak:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
