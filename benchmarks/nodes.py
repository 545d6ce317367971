"""Time of the assignment of points to nodes and of the spanning tree: all pairs against the k-d tree.

    python benchmarks/nodes.py [--dimensions 2 3 5 10 30] [--nodes 500 1000 ...] [--leaf 16] [--repeats 3]

Four tables: the assignment to few nodes, which always scans all of them; the assignment to many, by a scan and by a
search of the k-d tree; the same search over the number of points in a leaf of the tree (only with several numbers after
``--leaf``); and the minimum spanning tree by Prim's method (all pairs) and by Boruvka's (k-d tree).

"used" says what the package uses: `node_index` and `spanning_tree` choose by the number of nodes and of dimensions, and
these numbers were read off the tables. Times are of the processor, the least of some repeats, on one thread.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from skeltraj.core._geometry.assign import assign, node_index
from skeltraj.core._geometry.kdtree import _LEAF_SIZE, KDTree, _build
from skeltraj.core._geometry.spanning_tree import _boruvka, _prefers_boruvka, _prim


def seconds(task, repeats):
    """The least of some repeats, the first (compilation) left out."""
    task()
    spent = []
    for _ in range(repeats):
        began = time.thread_time()
        task()
        spent.append(time.thread_time() - began)
    return min(spent)


def arms(n, d, seed=0):
    """Points on three arms in a random plane, with noise in all `d` dimensions: what fits see."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * rng.integers(0, 3, n) / 3
    flat = rng.random(n)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    plane = np.linalg.qr(rng.standard_normal((max(d, 2), 2)))[0]
    return (flat @ plane.T)[:, :d] + 0.08 * rng.standard_normal((n, d))


def reaching(nodes, entries):
    """The sigma that gives about so many entries per row."""
    probes = nodes[:: max(1, len(nodes) // 100)]
    distance = np.sort(((probes[:, None] - nodes[None]) ** 2).sum(axis=2), axis=1)
    return float(np.median(distance[:, min(entries, len(nodes) - 1)])) / 40


def tree_of(points, leaf):
    """The k-d tree with at most so many points in a leaf."""
    order, *boxes = _build(points, leaf)
    return KDTree(order, np.ascontiguousarray(points[order].T), *boxes)


def microseconds(points, nodes, sigma, tree, repeats):
    """Of an assignment, for each point."""
    return 1e6 / len(points) * seconds(lambda: assign(points, nodes, sigma, tree), repeats)


def few_nodes(options):
    print(f"\nAssignment of {options.points:,} points to few nodes, in blocks of 8192 rows")
    print("dimensions  nodes  entries per row  milliseconds")
    for d in options.dimensions:
        points = arms(options.points, d)
        blocks = [points[i : i + 8192] for i in range(0, len(points), 8192)]
        for n_nodes in (100, 200):
            nodes = arms(n_nodes, d, seed=1)
            for sigma in (0.0, reaching(nodes, 1), reaching(nodes, 20), 1e3):
                entries = assign(blocks[0], nodes, sigma).weights.nnz / len(blocks[0])
                task = lambda: [assign(block, nodes, sigma) for block in blocks]  # noqa: B023
                print(f"{d:10d}  {n_nodes:5d}  {entries:15.1f}  {1e3 * seconds(task, options.repeats):12.1f}")


def many_nodes(options):
    print("\nAssignment to many nodes, microseconds per point")
    print("dimensions   nodes  entries per row    scan  search  used")
    for d in options.dimensions:
        for n_nodes in options.nodes:
            nodes, points = arms(n_nodes, d), arms(1000, d, seed=1)
            used = "scan" if node_index(nodes) is None else "search"
            for sigma in (0.0, reaching(nodes, 10), reaching(nodes, 100), reaching(nodes, 1000)):
                entries = assign(points, nodes, sigma).weights.nnz / len(points)
                scan = microseconds(points, nodes, sigma, None, options.repeats)
                search = microseconds(points, nodes, sigma, tree_of(nodes, _LEAF_SIZE), options.repeats)
                print(f"{d:10d}  {n_nodes:6d}  {entries:15.1f}  {scan:6.2f}  {search:6.2f}  {used}")


def leaves(options):
    print(f"\nSearch over the most points in a leaf (used: {_LEAF_SIZE}), microseconds per point")
    print("dimensions   nodes  entries per row" + "".join(f"  {leaf:6d}" for leaf in options.leaf))
    for d in options.dimensions:
        for n_nodes in options.nodes:
            nodes, points = arms(n_nodes, d), arms(1000, d, seed=1)
            for sigma in (0.0, reaching(nodes, 10), reaching(nodes, 100)):
                entries = assign(points, nodes, sigma).weights.nnz / len(points)
                trees = [tree_of(nodes, leaf) for leaf in options.leaf]
                spent = [microseconds(points, nodes, sigma, tree, options.repeats) for tree in trees]
                print(f"{d:10d}  {n_nodes:6d}  {entries:15.1f}" + "".join(f"  {time:6.2f}" for time in spent))


def spanning_trees(options):
    print("\nMinimum spanning tree, milliseconds")
    print("dimensions   nodes     Prim  Boruvka  used")
    for d in options.dimensions:
        for n_nodes in options.nodes:
            nodes = arms(n_nodes, d)
            repeats = options.repeats if n_nodes <= 20_000 else 1
            boruvka = 1e3 * seconds(lambda: _boruvka(tree_of(nodes, _LEAF_SIZE)), repeats)  # noqa: B023
            prim = np.nan
            if n_nodes <= options.most_by_prim:
                prim = 1e3 * seconds(lambda: _prim(nodes), repeats)  # noqa: B023
            used = "Boruvka" if _prefers_boruvka(nodes) else "Prim"
            print(f"{d:10d}  {n_nodes:6d}  {prim:7.1f}  {boruvka:7.1f}  {used}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[1, 2, 3, 5, 7, 10, 30])
    parser.add_argument("--nodes", type=int, nargs="+", default=[500, 1000, 1500, 2000, 5000, 10_000, 20_000])
    parser.add_argument("--points", type=int, default=100_000, help="that are assigned to few nodes")
    parser.add_argument("--leaf", type=int, nargs="+", default=[_LEAF_SIZE], help="most points in a leaf, to compare")
    parser.add_argument("--most-by-prim", type=int, default=20_000, help="time Prim's method for up to so many nodes")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    few_nodes(options)
    many_nodes(options)
    if len(options.leaf) > 1:
        leaves(options)
    spanning_trees(options)


if __name__ == "__main__":
    main()
