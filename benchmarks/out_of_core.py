"""Seconds and peak memory of a fit of a dask array, over the number of cells and the size of a block.

    python benchmarks/out_of_core.py [--cells 500000 1000000 4000000] [--blocks 50000] [--components 20] [--rounds 5]
    python benchmarks/out_of_core.py --learn [--cells 500000 2000000 10000000] [--blocks 5000 50000]
    python benchmarks/out_of_core.py --tasks [--blocks 1000 4000 16000]

The data, the noisy tree of ddrtree_speed.py with 50 features as float32, stand in a zarr array on disk and are
denoised and fitted by dask's threads in a process of its own for each size. What is printed is the peak of the
process's own memory (VmHWM on Linux) beyond what it held before, beside the sizes of the data, of a block, of the
embedding and of the denoised rows. With `--learn` it is the whole recipe with all defaults (`core.learn_tree`), beside
the rounds of the fit of all cells. With `--tasks` no data are read: what dask's schedulers themselves take for one
round over so many blocks, by threads of this process and by a `distributed` cluster of two worker processes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from ddrtree_speed import forget_peak, peak_mib, write_tree

MIB = 1 << 20


def fit_once(path: str, d: int, rounds: int, sharp: bool, learn: bool) -> None:
    """Print seconds, peak and rounds of a fit."""
    import dask.array as da

    from skeltraj import core

    X = da.from_zarr(path)
    small = X[:6000].compute()
    core.learn_tree(small, n_components=d)  # compiles
    forget_peak()
    before, began = peak_mib(), time.perf_counter()
    if learn:
        fit = core.learn_tree(X, n_components=d).whole
    else:
        fit = core.ddrtree(X if sharp else core.denoise(X).values, d, max_iter=rounds, tol=0)
    seconds = time.perf_counter() - began
    print(json.dumps(dict(seconds=seconds, peak=peak_mib() - before, rounds=len(fit.objective) - 1)))


def table(given: argparse.Namespace) -> None:
    """A fit for each size and block."""
    import zarr

    print("| cells | rows of a block | data, MiB | a block | embedding | denoised | rounds | seconds | peak, MiB |")
    print("|--:" * 9 + "|")
    for n in given.cells:
        with tempfile.TemporaryDirectory() as folder:
            raw = Path(folder) / "raw"
            write_tree(raw, n, 50, given.components)
            X = np.memmap(raw, np.float64, mode="r", shape=(n, 50))
            for block in given.blocks:
                path = Path(folder) / f"{block}.zarr"
                out = zarr.open(str(path), mode="w", shape=(n, 50), chunks=(block, 50), dtype="f4")
                step = block * max(1, 50_000 // block)
                for first in range(0, n, step):
                    out[first : first + step] = X[first : first + step].astype(np.float32)
                options = ["--components", given.components, "--rounds", given.rounds, "--one", path]
                options += ["--sharp"] * given.sharp + ["--learn"] * given.learn
                command = [sys.executable, __file__, *map(str, options)]
                one = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                sizes = [4 * 50 * n, 4 * 50 * block, 8 * given.components * n, 0 if given.sharp else 4 * 30 * n]
                print(
                    f"| {n:,} | {block:,} | "
                    + " | ".join(f"{size / MIB:,.0f}" for size in sizes)
                    + f" | {one['rounds']} | {one['seconds']:.1f} | {one['peak']:,.0f} |",
                    flush=True,
                )
            del X


def tasks(n_blocks: list[int], rounds: int) -> None:
    """Seconds that a round takes over blocks of ten rows: the schedulers' own part."""
    import dask.array as da
    from distributed import Client, LocalCluster

    from skeltraj import core

    rng = np.random.default_rng(0)

    def a_round(n: int) -> float:
        X = da.from_array(rng.standard_normal((10 * n, 3)) + 5 * np.linspace(0, 1, 10 * n)[:, None], chunks=(10, -1))
        core.ddrtree(X, 2, n_nodes=20, max_iter=1, tol=0)
        seconds = []
        for times in (1, 1 + rounds):
            began = time.perf_counter()
            core.ddrtree(X, 2, n_nodes=20, max_iter=times, tol=0)
            seconds.append(time.perf_counter() - began)
        return (seconds[1] - seconds[0]) / rounds

    print("| blocks | threads, s a round | ms a block | two workers, s a round | ms a block |\n|--:|--:|--:|--:|--:|")
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        for n in n_blocks:
            threads = a_round(n)
            with Client(cluster):
                workers = a_round(n)
            print(
                f"| {n:,} | {threads:.2f} | {1000 * threads / n:.2f} | {workers:.2f} | {1000 * workers / n:.2f} |",
                flush=True,
            )


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs="+", default=[500_000, 1_000_000, 4_000_000])
    parser.add_argument("--blocks", type=int, nargs="+", default=[50_000])
    parser.add_argument("--components", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--sharp", action="store_true", help="do not denoise")
    parser.add_argument("--learn", action="store_true", help="the whole recipe, all defaults")
    parser.add_argument("--tasks", action="store_true", help="what the schedulers take, over the number of blocks")
    given = parser.parse_args()
    if given.one:
        fit_once(given.one, given.components, given.rounds, given.sharp, given.learn)
    elif given.tasks:
        tasks(given.blocks, given.rounds)
    else:
        table(given)


if __name__ == "__main__":
    main()
