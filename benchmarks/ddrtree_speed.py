"""Time and memory of DDRTree: this package, R's DDRTree, the Python package ddrtree-python, the literal version.

    python benchmarks/ddrtree_speed.py --peer-python PATH               a quick set, some minutes
    python benchmarks/ddrtree_speed.py --peer-python PATH --full --figure speed.png
    python benchmarks/ddrtree_speed.py --first-call                     seconds of the import and of the first fit
    python benchmarks/ddrtree_speed.py --from-csv FILE --figure speed.png   table and figure of an earlier run

R's package is run through ``Rscript`` (``install.packages("DDRTree")``), ddrtree-python (import name ``ddrtree``) by
the interpreter given with ``--peer-python``; either is left out if it is not there. The literal version is the one in
tests/oracles.py, for small data only. Measure on a machine that does nothing else.

What is compared, in one run:

- The same data (a noisy tree, centred, float64), lambda, sigma, gamma, number of nodes and of components, and the same
  number of rounds, which is checked: none may stop early (here tol = 0, there tol = -1). lambda = 5 N, sigma = 1e-3
  and gamma = 10 are R's defaults.
- Wall seconds of the fit alone, with its start (PCA, and k-means for K < N) but without reading the data, each in a
  new process after a small fit, so that nothing is compiled in it. Each gets the matrix in the layout that it wants.
- Peak resident memory of the process during the fit, beyond what it held before (the data among it, which for float32
  are half as large).
- Methods take turns, so that drift of the machine hits all alike; the best of the repeats counts, all are printed.
- As many threads as each takes by itself, or ``--threads``; R's DDRTree itself uses one, and its BLAS as installed.
- A method whose process takes longer than ``--limit``, or would if time grew in proportion with the size, is not run
  at larger sizes of the series. Nothing is extrapolated.

The values of eq. 9 that the methods reach are compared too. For K = N all start at the PCA and must agree (R's
eigenvectors are approximate); for K < N k-means and the package's own rule start from different nodes.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import gc
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve()
OURS, OURS32, R, PORT, LITERAL = "skeltraj", "skeltraj, float32", "R DDRTree", "ddrtree-python", "literal"
METHODS = [OURS, OURS32, R, PORT, LITERAL]
GAMMA, SIGMA, LAM_PER_ROW = 10.0, 1e-3, 5.0
FIELDS = ["series", "n_obs", "n_features", "n_components", "n_nodes", "rounds", "method", "repeat", "status"]
FIELDS += ["seconds", "peak_mib", "objective", "entries_per_row"]


@dataclass(frozen=True)
class Case:
    """Sizes of one fit, and the series in which it stands."""

    series: str
    n_obs: int
    n_nodes: int
    n_features: int = 50
    n_components: int = 2

    @property
    def size(self) -> int:
        """What grows in the series."""
        sizes = {"d": self.n_components, "d, many": self.n_components, "D": self.n_features, "K": self.n_nodes}
        return sizes.get(self.series, self.n_obs)

    def methods(self) -> list[str]:
        """Those that are run, the limit of time apart."""
        methods = [OURS]
        if self.n_obs >= 1_000_000:
            methods.append(OURS32)
        if self.n_nodes <= 2000:  # (K, K) and (N, K) matrices, and all pairs of nodes as a graph in R
            methods += [R, PORT]
        if (self.n_obs <= 2000 and self.n_nodes <= 500) or self.n_obs <= 1000:
            methods.append(LITERAL)
        return methods


QUICK = [Case("N", 1000, 100), Case("N", 10_000, 150), Case("K = N", 1000, 1000)]
FULL = [
    *(Case("N", n, 150) for n in (1000, 3000, 10_000, 20_000, 30_000, 100_000, 300_000, 1_000_000)),
    *(Case("K = N", n, n) for n in (500, 1000, 2000, 5000, 20_000)),
    *(Case("D", 5000, 150, n_features=D) for D in (50, 200, 1000, 2000)),
    *(Case("K", 10_000, K) for K in (50, 150, 500, 1000, 2000, 5000, 10_000)),
    *(Case("d", 10_000, 150, n_components=d) for d in (2, 5, 10, 30)),
    *(Case("d, many", 100_000, 150, n_components=d) for d in (2, 10, 30)),
]


# ---- data ------------------------------------------------------------------------------------------------------------


def write_tree(path, n, n_features, n_components, noise=0.05):
    """A tree of nine arms and length 12 with noise in every feature, centred; in blocks, so that memory stays small."""
    rng = np.random.default_rng(0)
    t = max(2, n_components)
    starts, ways, lengths = [], [], []
    for i in range(3):
        stem = _direction(2 * np.pi * i / 3, t, rng)
        starts.append(np.zeros(t)), ways.append(stem), lengths.append(2.0)
        for side in (-1, 1):
            (
                starts.append(2 * stem),
                ways.append(_direction(2 * np.pi * i / 3 + side * 0.6, t, rng)),
                lengths.append(1.0),
            )
    starts, ways, lengths = np.array(starts), np.array(ways), np.array(lengths)
    basis = np.linalg.qr(rng.standard_normal((n_features, t)))[0].T
    step = max(1, (1 << 22) // n_features)
    total = np.zeros(n_features)
    with open(path, "wb") as file:
        for first in range(0, n, step):
            m = min(step, n - first)
            arm = rng.choice(len(ways), m, p=lengths / lengths.sum())
            flat = starts[arm] + (rng.random(m) * lengths[arm])[:, None] * ways[arm]
            X = flat @ basis + noise * rng.standard_normal((m, n_features))
            total += X.sum(axis=0)
            X.tofile(file)
    X = np.memmap(path, np.float64, mode="r+", shape=(n, n_features))
    for first in range(0, n, step):
        X[first : first + step] -= total / n


def _direction(angle, t, rng):
    way = np.r_[np.cos(angle), np.sin(angle), rng.standard_normal(t - 2) / np.sqrt(max(1, t - 2))]
    return way / np.linalg.norm(way)


# ---- what runs in processes of their own -----------------------------------------------------------------------------


def peak_mib():
    """Peak resident memory of this process; on Linux, since `forget_peak`."""
    try:
        [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) / 1024
    except (OSError, ValueError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def forget_peak():
    """Give back what is free and start the peak anew at what is resident now, where the system can."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)  # else the fit finds room that was used before and looks smaller than it is
    except (AttributeError, OSError, TypeError):
        pass
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def measure(method, data, n, D, d, K, rounds, save):
    """Fit once; seconds, memory and rounds as a line of JSON."""
    n, D, d, K, rounds = int(n), int(D), int(d), int(K), int(rounds)
    fit = {PORT: fit_port, LITERAL: fit_literal}.get(method, fit_ours)
    X = np.fromfile(data).reshape(n, D)
    # above 4,000 nodes by conjugate gradients: all that a fit can need has then been compiled
    small = np.resize(X, (4100 if K > 400 and method in (OURS, OURS32) else 300, D))
    small += 0.05 * np.random.default_rng(1).standard_normal(small.shape)
    if method == OURS32:
        X, small = X.astype(np.float32), small.astype(np.float32)
    if method == PORT:
        X, small = np.ascontiguousarray(X.T), np.ascontiguousarray(small.T)
        fit(small[:, :150], 2, 20, 2)
    elif method == LITERAL:
        fit(small[:40], 2, 10, 1)
    else:
        fit(small[:300], d, 100, 1)
        fit(small[:300], d, 50, 1)  # with lists of the nodes near each
        if len(small) > 300:
            fit(small, d, len(small), 1)
    del small
    forget_peak()
    before = peak_mib()
    began = time.perf_counter()
    W, Z, C, ran, entries = fit(X, d, K, rounds)
    seconds = time.perf_counter() - began
    after = peak_mib()
    if save:
        with open(save, "wb") as file:
            for part in (W.T, Z, C):
                np.ascontiguousarray(part, dtype=np.float64).tofile(file)
    print(json.dumps(dict(seconds=seconds, peak_mib=after - before, rounds=ran, entries=entries)))


def fit_ours(X, d, K, rounds):
    from skeltraj.core import ddrtree

    fit = ddrtree(X, d, n_nodes=K, lam=LAM_PER_ROW * len(X), sigma=SIGMA, gamma=GAMMA, max_iter=rounds, tol=0)
    return fit.loadings, fit.embedding, fit.nodes, fit.n_iter, fit.assignment.nnz / len(X)


def fit_port(X, d, K, rounds):
    from ddrtree import DDRTree

    n = X.shape[1]
    fit = DDRTree(
        X,
        dimensions=d,
        ncenter=None if n == K else K,
        sigma=SIGMA,
        lambda_=LAM_PER_ROW * n,
        gamma=GAMMA,
        max_iter=rounds,
        tol=-1,
    )
    return fit.W, fit.Z.T, fit.Y.T, len(fit.objective_vals), None


def fit_literal(X, d, K, rounds):
    sys.path.insert(0, str(HERE.parents[1] / "tests"))
    import oracles

    W = oracles.pca(X, d)
    Z = X @ W
    C = Z[np.linspace(0, len(X) - 1, K).astype(int)]
    history = oracles.ddrtree(X, W, Z, C, LAM_PER_ROW * len(X), SIGMA, GAMMA, rounds)
    return *history[-1][:3], len(history) - 1, None


R_CODE = """
suppressPackageStartupMessages(library(DDRTree))
given <- commandArgs(trailingOnly = TRUE)
size <- as.integer(given[2:6])
n <- size[1]; D <- size[2]; d <- size[3]; K <- size[4]; rounds <- size[5]
X <- readBin(given[1], "numeric", n = n * D)
dim(X) <- c(D, n)
fit <- function(X, d, K, rounds)
  DDRTree(X, dimensions = d, maxIter = rounds, sigma = SIGMA, lambda = LAM * ncol(X),
          ncenter = if (K == ncol(X)) NULL else K, param.gamma = GAMMA, tol = -1, verbose = FALSE)
peak <- function() {
  line <- tryCatch(grep("VmHWM", readLines("/proc/self/status"), value = TRUE), error = function(e) "")
  as.numeric(gsub("[^0-9]", "", line)) / 1024
}
ignored <- fit(X[, 1:150], 2, 20, 2)
rm(ignored)
ignored <- gc()
try(suppressWarnings(cat("5", file = "/proc/self/clear_refs")), silent = TRUE)
before <- peak()
began <- Sys.time()
result <- fit(X, d, K, rounds)
seconds <- as.numeric(difftime(Sys.time(), began, units = "secs"))
after <- peak()
if (length(given) > 6) {
  file <- file(given[7], "wb")
  for (part in list(result$W, result$Z, result$Y)) writeBin(as.vector(part), file)
  close(file)
}
memory <- if (is.na(after)) "null" else sprintf("%.3f", after - before)
cat(sprintf('{"seconds": %.6f, "peak_mib": %s, "rounds": %d, "entries": null}\\n', seconds, memory,
            length(result$objective_vals)))
"""
R_CODE = R_CODE.replace("SIGMA", repr(SIGMA)).replace("LAM", repr(LAM_PER_ROW)).replace("GAMMA", repr(GAMMA))
R_VERSIONS = """
suppressPackageStartupMessages(library(DDRTree))
cat(R.version$version.string, "; DDRTree ", as.character(packageVersion("DDRTree")), "; BLAS ",
    extSoftVersion()["BLAS"], "\\n", sep = "")
"""


def objective(data, saved, n, D, d, K):
    """Eq. 9 at W, Z, C with the best tree and assignment for them."""
    from scipy.sparse.csgraph import minimum_spanning_tree
    from scipy.special import logsumexp

    n, D, d, K = int(n), int(D), int(d), int(K)
    X = np.memmap(data, np.float64, mode="r", shape=(n, D))
    parts = np.split(np.fromfile(saved), [d * D, d * D + n * d])
    W, Z, C = parts[0].reshape(d, D), parts[1].reshape(n, d), parts[2].reshape(K, d)
    total = LAM_PER_ROW * n * minimum_spanning_tree(_squares(C, C)).sum()
    for first in range(0, n, 10_000):
        at = slice(first, first + 10_000)
        total += np.sum((X[at] - Z[at] @ W) ** 2)
        total -= GAMMA * SIGMA * np.sum(logsumexp(-_squares(Z[at], C) / SIGMA, axis=1))
    print(json.dumps(float(total)))


def _squares(a, b):
    total = np.zeros((len(a), len(b)))
    for j in range(a.shape[1]):
        total += (a[:, j, None] - b[:, j]) ** 2
    return total


def first_call():
    """Seconds of the import and of the first and second fit in this process."""
    began = time.perf_counter()
    import skeltraj as st

    loaded = time.perf_counter()
    X = np.random.default_rng(0).standard_normal((1000, 50))
    times = []
    for _ in range(2):
        start = time.perf_counter()
        st.core.ddrtree(X, n_nodes=100, sigma=1.0, max_iter=10, tol=0)
        times.append(time.perf_counter() - start)
    print(json.dumps([loaded - began, *times]))


def versions(*names):
    from importlib.metadata import version

    print(f"Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in names))


# ---- the run ---------------------------------------------------------------------------------------------------------


class Failed(Exception):
    """What to print instead of a time."""


def call(command, env, limit=None):
    """Last line that a process prints."""
    try:
        done = subprocess.run([str(part) for part in command], env=env, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise Failed(f"over {limit:g} s") from None
    except OSError as error:
        raise Failed(str(error)) from None
    if done.returncode == -9:
        raise Failed("killed (out of memory?)")
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        raise Failed("failed: " + (done.stderr.strip().splitlines() or ["no message"])[-1])
    return lines[-1]


class Bench:
    """All measurements of a run, written to a CSV as they come."""

    def __init__(self, given, folder, env):
        self.given, self.folder, self.env = given, Path(folder), env
        self.missing, self.lines = {}, machine(env)
        self.limits = limits_of(given.limit)
        self.r_file = self.folder / "measure.R"
        self.r_file.write_text(R_CODE)
        (self.folder / "versions.R").write_text(R_VERSIONS)
        peer = [
            "-c",
            f"import sys; sys.path.insert(0, {str(HERE.parent)!r}); "
            "from ddrtree_speed import versions; versions('ddrtree-python', 'numpy', 'scipy', 'scikit-learn')",
        ]
        for method, command in {
            R: [given.rscript, self.folder / "versions.R"],
            PORT: [given.peer_python, *peer],
        }.items():
            try:
                if command[0] is None:
                    raise Failed("no --peer-python")
                self.lines.append(f"{method}: {call(command, env)}")
            except Failed as why:
                self.missing[method] = f"not here: {why}"
                self.lines.append(f"{method}: {self.missing[method]}")
        self.rows, self.last = [], {}

    def command(self, method, case, data, save):
        """What measures one fit in a process of its own."""
        sizes = [case.n_obs, case.n_features, case.n_components, case.n_nodes, self.given.rounds]
        if method == R:
            return [self.given.rscript, self.r_file, data, *sizes, *([save] if save else [])]
        return [
            self.given.peer_python if method == PORT else sys.executable,
            HERE,
            "--worker",
            "measure",
            method,
            data,
            *sizes,
            save or "",
        ]

    def run(self, case, writer):
        """All methods at one size, in turn."""
        data, save = self.folder / "data", self.folder / "result"
        write_tree(data, case.n_obs, case.n_features, case.n_components)
        self.stopped = {}
        for repeat in range(self.given.repeats):
            for method in case.methods():
                if repeat and method in self.stopped:
                    continue
                row = dict.fromkeys(FIELDS) | dict(
                    series=case.series,
                    n_obs=case.n_obs,
                    n_features=case.n_features,
                    n_nodes=case.n_nodes,
                    n_components=case.n_components,
                    rounds=self.given.rounds,
                    method=method,
                    repeat=repeat,
                )
                try:
                    row |= self.one(method, case, data, save if repeat == 0 and case.n_nodes <= 2000 else None)
                except Failed as why:
                    self.stopped[method] = row["status"] = str(why)
                self.rows.append(row)
                writer.writerow(row)
                size = f"N={case.n_obs} K={case.n_nodes} D={case.n_features} d={case.n_components}"
                told = (
                    f"{row['seconds']:.4g} s, {show(row['peak_mib'])} MiB" if row["status"] == "ok" else row["status"]
                )
                print(f"{size}  {method}, repeat {repeat + 1}: {told}", flush=True)

    def one(self, method, case, data, save):
        """Measure one fit; columns of its row."""
        if method in self.missing:
            raise Failed(self.missing[method])
        limit, before = self.limits.get(method, self.limits[None]), self.last.get((case.series, method))
        if before:
            size, seconds = before
            if seconds is None or seconds * case.size / size > limit:
                raise Failed("not run")
        try:
            measured = json.loads(call(self.command(method, case, data, save), self.env, limit))
        except Failed:
            self.last[case.series, method] = case.size, None
            raise
        self.last[case.series, method] = case.size, measured["seconds"]
        if measured["rounds"] != self.given.rounds:
            raise Failed(f"stopped after {measured['rounds']} rounds")
        value = None
        if save:
            sizes = [case.n_obs, case.n_features, case.n_components, case.n_nodes]
            value = json.loads(call([sys.executable, HERE, "--worker", "objective", data, save, *sizes], self.env))
        return dict(
            status="ok",
            seconds=measured["seconds"],
            peak_mib=measured["peak_mib"],
            objective=value,
            entries_per_row=measured["entries"],
        )


def limits_of(texts):
    """``["600", "R DDRTree=1200"]`` as seconds by method; None: all others."""
    limits = {None: 600.0}
    for text in texts:
        name, _, seconds = text.rpartition("=")
        if name and name not in METHODS:
            raise SystemExit(f"--limit {text}: no such method. There are {', '.join(METHODS)}.")
        limits[name or None] = float(seconds)
    return limits


def machine(env):
    """Processor, memory, threads, load and versions, a line each."""
    name, memory = platform.processor() or platform.machine(), ""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
        memory = f", {int(Path('/proc/meminfo').read_text().split()[1]) / 2**20:.0f} GiB"
    except (OSError, StopIteration):
        pass
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    names = ("skeltraj", "numpy", "scipy", "numba", "scikit-learn")
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    code = (
        f"import sys; sys.path.insert(0, {str(HERE.parent)!r}); from ddrtree_speed import versions; versions(*{names})"
    )
    lines = [
        f"Machine: {name}, {cores} cores{memory}, {platform.system()} {platform.release()}",
        f"Threads: {env.get('NUMBA_NUM_THREADS', 'as each method takes them')}; load at the start: {load}",
        f"{OURS}: {call([sys.executable, '-c', code], env)}",
    ]
    try:
        where = ["git", "-C", HERE.parents[1], "describe", "--always", "--dirty"]
        lines.append(f"Commit: {call(where, env)}")
    except Failed:
        pass
    return lines


# ---- the report ------------------------------------------------------------------------------------------------------


def show(value, digits=3):
    """A number, short."""
    if value is None:
        return "?"
    return f"{value:,.0f}" if value >= 10**digits else f"{value:#.{digits}g}".rstrip(".")


def best(rows, case, method):
    """Least seconds and memory over the repeats, the value reached; or the reason why there are none."""
    rows = [row for row in rows if case_of(row) == case and row["method"] == method]
    done = [row for row in rows if row["status"] == "ok"]
    if not done:
        return rows[0]["status"] if rows else None
    least = lambda name: min((row[name] for row in done if row[name] is not None), default=None)
    return dict(
        seconds=least("seconds"),
        peak_mib=least("peak_mib"),
        objective=least("objective"),
        entries=least("entries_per_row"),
    )


def case_of(row):
    return Case(row["series"], row["n_obs"], row["n_nodes"], row["n_features"], row["n_components"])


def report(rows):
    """Markdown: seconds, memory, values."""
    cases = list(dict.fromkeys(case_of(row) for row in rows))
    methods = [m for m in METHODS if any(row["method"] == m for row in rows)]
    others = [m for m in methods if m != OURS]
    rounds = rows[0]["rounds"]
    sizes = lambda case: f"| {case.n_obs:,} | {case.n_nodes:,} | {case.n_features:,} | {case.n_components} |"
    text = []
    for field, title in (("seconds", f"Seconds for {rounds} rounds"), ("peak_mib", "Peak memory of the fit, MiB")):
        text += ["", f"{title}; in brackets: times that of {OURS}", ""]
        text.append("| N | K | D | d | " + " | ".join(methods) + " |")
        text.append("|--:" * (4 + len(methods)) + "|")
        for case in cases:
            ours = best(rows, case, OURS)
            line = sizes(case)
            for method in methods:
                least = best(rows, case, method)
                if not isinstance(least, dict):
                    line += f" {least or 'not run'} |"
                    continue
                line += f" {show(least[field])}"
                if method != OURS and isinstance(ours, dict) and least[field] is not None and ours[field]:
                    line += f" ({show(least[field] / ours[field], 2)})"
                line += " |"
            text.append(line)
    text += ["", f"Value of eq. 9 reached, relative to that of {OURS}, and entries per row of its assignment", ""]
    text.append("| N | K | D | d | " + " | ".join(others) + " | entries per row |")
    text.append("|--:" * (5 + len(others)) + "|")
    for case in cases:
        ours = best(rows, case, OURS)
        if not isinstance(ours, dict) or ours["objective"] is None:
            continue
        line = sizes(case)
        for method in others:
            least = best(rows, case, method)
            known = isinstance(least, dict) and least["objective"] is not None
            line += f" {least['objective'] / ours['objective'] - 1:+.1e} |" if known else " |"
        text.append(f"{line} {show(ours['entries'])} |")
    return "\n".join(text)


def figure(rows, path):
    """Seconds and memory over N, for the series with a fixed number of nodes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    looks = {
        OURS: ("#0072B2", "o", "-"),
        R: ("#D55E00", "^", "-"),
        PORT: ("#009E73", "D", "-"),
        LITERAL: ("#666666", "x", "-"),
    }
    cases = sorted({case_of(row) for row in rows if row["series"] == "N"}, key=lambda case: case.n_obs)
    if not cases:
        raise SystemExit("No figure: the series N was not measured.")
    fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    titles = {"seconds": f"Seconds for {rows[0]['rounds']} rounds", "peak_mib": "Peak memory of the fit, MiB"}
    for ax, (field, title) in zip(axes, titles.items(), strict=True):
        ends = []
        for method, (colour, marker, line) in looks.items():
            measured = [(case.n_obs, best(rows, case, method)) for case in cases]
            points = [(n, least[field]) for n, least in measured if isinstance(least, dict) and least[field]]
            if points:
                x, y = zip(*points, strict=True)
                ax.plot(
                    x,
                    y,
                    color=colour,
                    marker=marker,
                    linestyle=line,
                    markersize=5,
                    linewidth=1.8,
                )
                ends.append([np.log10(y[-1]), x[-1], y[-1], method, colour])
        ax.set(xscale="log", yscale="log", xlabel="Points (N)", title=title)
        ax.title.set_horizontalalignment("left")
        ax.title.set_x(0)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(which="major", color="#dddddd", linewidth=0.6)
        ax.set_axisbelow(True)
        low, high = np.log10(ax.get_ylim())
        left, right = np.log10(ax.get_xlim())
        ax.set_xlim(10 ** (left - 0.16 * (right - left)), 10 ** (right + 0.42 * (right - left)))
        ax.set_xticks([10**i for i in range(3, 7) if 10**i <= cases[-1].n_obs])
        ax.minorticks_off()
        ax.xaxis.set_major_formatter("{x:,.10g}")
        ax.yaxis.set_major_formatter("{x:,.10g}")
        gap, floor = 0.06 * (high - low), {}
        for at, x, y, method, colour in sorted(ends):  # names beside the last points, none over another
            floor[x] = max(at, floor.get(x, -np.inf) + gap)
            side = -1 if x == cases[0].n_obs else 1  # a single point: outside the lines
            ax.annotate(
                method,
                (x, y),
                (x * 10 ** (side * 0.03 * (right - left)), 10 ** floor[x]),
                ha="right" if side < 0 else "left",
                va="center",
                color=colour,
                fontsize=9,
                annotation_clip=False,
            )
    nodes = sorted({case.n_nodes for case in cases})
    first = cases[0]
    fig.suptitle(
        f"DDRTree: K = {', '.join(map(str, nodes))} nodes, D = {first.n_features}, d = {first.n_components}",
        x=0.01,
        ha="left",
        fontsize=11,
    )
    fig.savefig(path, dpi=160)


def read_csv(path):
    """The rows of an earlier run."""
    kinds = dict.fromkeys(["n_obs", "n_features", "n_components", "n_nodes", "rounds", "repeat"], int)
    kinds |= dict.fromkeys(["seconds", "peak_mib", "objective", "entries_per_row"], float)
    with open(path, newline="") as file:
        return [{k: (kinds.get(k, str)(v) if v else None) for k, v in row.items()} for row in csv.DictReader(file)]


def first_calls(env, repeats):
    """Import and first fit with an empty and a filled numba cache."""
    print("\n".join(machine(env)))
    print("\n| numba cache | import skeltraj, s | first fit, s | second fit, s |\n|:--|--:|--:|--:|")
    worker = [sys.executable, HERE, "--worker", "first"]
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            for name in ("empty", "filled"):
                times = json.loads(call(worker, env | {"NUMBA_CACHE_DIR": cache}))
                print(f"| {name} | " + " | ".join(map(show, times)) + " |", flush=True)
    print("\nThe fit: 1,000 points, D = 50, K = 100, 10 rounds.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all sizes, up to 1,000,000 points")
    parser.add_argument(
        "--series",
        nargs="+",
        choices=list(dict.fromkeys(case.series for case in FULL)),
        help="of the sizes, only these",
    )
    parser.add_argument("--largest", type=int, metavar="N", help="of the sizes, only up to N points")
    parser.add_argument("--peer-python", metavar="PATH", help="interpreter that has ddrtree-python")
    parser.add_argument("--rscript", default="Rscript", metavar="PATH")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="[METHOD=]SECONDS",
        help="of a process; may be given several times (600)",
    )
    parser.add_argument("--threads", type=int, help="of every method (as each takes them)")
    parser.add_argument("--out", type=Path, default=HERE.parent / "results" / "ddrtree_speed.csv")
    parser.add_argument("--figure", type=Path, metavar="FILE.png")
    parser.add_argument("--from-csv", type=Path, metavar="FILE", help="measure nothing; report an earlier run")
    parser.add_argument("--first-call", action="store_true")
    given = parser.parse_args()
    env = dict(os.environ)
    if given.threads:
        names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        env |= dict.fromkeys(names, str(given.threads))
    if given.first_call:
        first_calls(env, given.repeats)
        return
    if given.from_csv:
        rows = read_csv(given.from_csv)
        print(report(rows))
    else:
        rows = measured(given, env)
    if given.figure:
        figure(rows, given.figure)


def measured(given, env):
    """Run all sizes; print and write the report."""
    cases = [
        case
        for case in (FULL if given.full else QUICK)
        if (not given.series or case.series in given.series) and (not given.largest or case.n_obs <= given.largest)
    ]
    given.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, open(given.out, "w", newline="") as file:
        bench = Bench(given, folder, env)
        print("\n".join(bench.lines), flush=True)
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for case in cases:
            bench.run(case, writer)
            file.flush()
    text = "\n".join(f"- {line}" for line in bench.lines) + "\n" + report(bench.rows)
    given.out.with_suffix(".md").write_text(text + "\n")
    print("\n" + text)
    return bench.rows


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        {"measure": measure, "objective": objective, "first": first_call}[sys.argv[2]](*sys.argv[3:])
    else:
        main()
