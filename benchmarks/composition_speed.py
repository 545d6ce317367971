"""How fast groups are compared along a tree: `core.composition` beside its statistics in plain numpy.

The plain version permutes the labels with numpy and adds up with `numpy.bincount`; both find the same statistics, and
p-values that differ only by chance.

    python benchmarks/composition_speed.py --cells 20000 200000
"""

import argparse
import time

import numpy as np

from skeltraj import core

N_GROUPS, N_BRANCHES, N_PLACES = 8, 7, 1000


def plain(group, branch, pseudotime, n_permutations, rng):
    """Hits of each group on each branch, of shifts and gaps, and of pairs of groups within branches."""
    n = len(group)
    ranks = np.argsort(np.argsort(pseudotime)) / n
    place = (ranks * N_PLACES).astype(int)
    table = lambda labels, column, width: np.bincount(labels * width + column, minlength=N_GROUPS * width)

    def statistics(labels):
        size = np.bincount(labels, minlength=N_GROUPS)[:, None]
        on = table(labels, branch, N_BRANCHES).reshape(N_GROUPS, -1)
        at = np.cumsum(table(labels, place, N_PLACES).reshape(N_GROUPS, -1), axis=1)
        rank = np.bincount(labels, ranks, minlength=N_GROUPS)[:, None]
        apart = lambda own, whole: np.abs(own / size - (whole - own) / (n - size))
        gap = apart(at, at.sum(axis=0)).max(axis=1)
        return apart(on, on.sum(axis=0)), apart(rank, rank.sum())[:, 0], gap

    observed = statistics(group)
    hits = [np.zeros(np.shape(part)) for part in observed]
    for _ in range(n_permutations):
        for count, part, own in zip(hits, statistics(rng.permutation(group)), observed, strict=True):
            count += part >= own - 1e-12
    pairs = []
    for here in range(N_BRANCHES):
        for a in range(N_GROUPS):
            for b in range(a + 1, N_GROUPS):
                cells = np.flatnonzero((branch == here) & ((group == a) | (group == b)))
                values = pseudotime[cells] - pseudotime[cells].mean()
                first = group[cells] == a
                if not 0 < first.sum() < len(first):
                    continue
                contrast = np.where(first, 1 / first.sum(), -1 / (~first).sum())
                own = abs(values @ contrast)
                drawn = [abs(rng.permutation(values) @ contrast) for _ in range(n_permutations)]
                pairs.append((1 + np.sum(np.array(drawn) >= own - 1e-12)) / (1 + n_permutations))
    return [(1 + part) / (1 + n_permutations) for part in hits], np.array(pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--permutations", type=int, default=1000)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    small = rng.integers(0, 2, 40), np.repeat([0, 1], 20), rng.random(40)
    core.composition(*small, n_permutations=4)  # compiles
    print("| cells | plain numpy, s | core.composition, s | ratio | largest difference of p-values |")
    print("| - | - | - | - | - |")
    for n in given.cells:
        group, branch = rng.integers(0, N_GROUPS, n), rng.integers(0, N_BRANCHES, n)
        pseudotime = rng.random(n)
        begin = time.perf_counter()
        (on_branches, shift, gap), pairs = plain(group, branch, pseudotime, given.permutations, rng)
        middle = time.perf_counter()
        result = core.composition(group, branch, pseudotime, n_permutations=given.permutations)
        end = time.perf_counter()
        both = [
            (result.p_value, on_branches),
            (result.shift_p_value, shift),
            (result.gap_p_value, gap),
            (result.progress.p_value, pairs),
        ]
        worst = max(np.abs(own - other).max() for own, other in both)
        a, b = middle - begin, end - middle
        print(f"| {n:,} | {a:.2f} | {b:.2f} | {a / b:.1f} | {worst:.3f} |", flush=True)


if __name__ == "__main__":
    main()
