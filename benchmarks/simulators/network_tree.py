"""The tree of runs of the network: which fate each has, and when fates part."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial import KDTree

from simulators.network_model import TIPS, model
from simulators.random_trees import Places, Tree

SMOOTHED = 25  # steps over which the mean course of an edge is averaged: its length must not grow with noise
TOLD = 0.95  # share of the runs whose fate is told from the state once two fates have parted
SHORTEST = 0.04  # of all lengths together: below it, two forks are one


def fates(courses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number of each run's fate, and whether it is kept.

    A run is kept where the gene of one fate is on at its end, those of the others are not, and it took the usual way:
    erythrocytes and megakaryocytes come from cells that turn on EgrNab or, fewer, from cells that turn on Gfi1, as
    neutrophils do. With both ways in there is no tree.
    """
    gene = {name: courses[:, :, i] for i, name in enumerate(model().genes)}
    end = np.column_stack([gene[name][:, -1] for name in TIPS.values()])
    ranked, fate = np.sort(end, axis=1), end.argmax(axis=1)
    myeloid = np.isin(fate, [list(TIPS).index("monocyte"), list(TIPS).index("neutrophil")])
    usual = myeloid | (gene["EgrNab"].max(axis=1) > gene["Gfi1"].max(axis=1))
    return fate, (ranked[:, -1] > 0.6) & (ranked[:, -2] < 0.4) & usual


def parted(courses: np.ndarray, fate: np.ndarray) -> tuple[Tree, list[np.ndarray], dict[int, list[int]]]:
    """The tree of decided runs; the course (steps, genes) of each edge; the edges on the way to each fate."""
    known = [int(f) for f in np.unique(fate)]
    means = {f: courses[fate == f].mean(axis=0) for f in known}
    last = courses.shape[1] - 1
    shared = [last - parting_time(courses, fate, means, a, b) for a, b in itertools.combinations(known, 2)]
    groups = {i: ((f,), last) for i, f in enumerate(known)}  # fates, and the time at which they go on from one another
    edges, drawn_through, ways = [], [], {f: [] for f in known}
    joined = []  # (parent group, child group)
    for step, (a, b, height, _) in enumerate(linkage(shared, "average")):
        groups[len(known) + step] = (groups[int(a)][0] + groups[int(b)][0], round(last - height))
        joined += [(len(known) + step, int(a)), (len(known) + step, int(b))]
    top = len(known) + len(known) - 2
    names = {i: list(TIPS)[group[0][0]] if len(group[0]) == 1 else f"fork{i}" for i, group in groups.items()}

    def course(child: int, begin: int) -> np.ndarray:
        members, end = groups[child]
        return smoothed(courses[np.isin(fate, members)].mean(axis=0)[begin : max(end, begin + 1) + 1])

    todo = [("progenitor", top, 0)]
    whole = sum(length_of(course(child, groups[parent][1])) for parent, child in joined) + length_of(course(top, 0))
    while todo:
        parent, child, begin = todo.pop(0)
        along = course(child, begin)
        below = [lower for upper, lower in joined if upper == child]
        if below and parent != "progenitor" and length_of(along) < SHORTEST * whole:
            todo += [(parent, lower, begin) for lower in below]
            continue
        for f in groups[child][0]:
            ways[f].append(len(edges))
        edges.append((parent, names[child]))
        drawn_through.append(along)
        todo += [(names[child], lower, groups[child][1]) for lower in below]
    lengths = np.array([length_of(along) for along in drawn_through])
    return Tree(tuple(edges), lengths / lengths.mean()), drawn_through, ways


def parting_time(courses: np.ndarray, fate: np.ndarray, means: dict[int, np.ndarray], a: int, b: int) -> int:
    """The step from which on the state tells the two fates apart."""
    right = []
    for own, other in ((a, b), (b, a)):
        states = courses[fate == own]
        nearer = ((states - means[own]) ** 2).sum(axis=2) < ((states - means[other]) ** 2).sum(axis=2)
        right.append(nearer.mean(axis=0))
    wrong = np.flatnonzero(np.mean(right, axis=0) < TOLD)
    return int(wrong[-1]) + 1 if len(wrong) else 0


def smoothed(course: np.ndarray) -> np.ndarray:
    """Means over windows of a course (steps, genes), between its own two ends; straight lines between them."""
    n = max(round(len(course) / SMOOTHED), 1)
    middle = [window.mean(axis=0) for window in np.array_split(course, n)] if n > 1 else []
    knots = np.array([course[:5].mean(axis=0), *middle, course[-5:].mean(axis=0)])
    at = np.linspace(0, len(knots) - 1, 20 * len(knots))
    return np.column_stack([np.interp(at, np.arange(len(knots)), gene) for gene in knots.T])


def length_of(course: np.ndarray) -> float:
    """Length of a course (steps, genes)."""
    return float(np.linalg.norm(np.diff(course, axis=0), axis=1).sum())


def located(
    states: np.ndarray, fate: np.ndarray, drawn_through: list[np.ndarray], ways: dict[int, list[int]]
) -> Places:
    """Where each state lies on the edges that lead to its run's fate, one run after the other."""
    edge, fraction = np.empty(states.shape[:2], np.int64), np.empty(states.shape[:2])
    along = [
        np.concatenate([[0], np.linalg.norm(np.diff(course, axis=0), axis=1).cumsum()]) for course in drawn_through
    ]
    along = [at / at[-1] for at in along]
    for f, way in ways.items():
        of_point = np.repeat(way, [len(drawn_through[i]) for i in way])
        at_point = np.concatenate([along[i] for i in way])
        nearest = KDTree(np.concatenate([drawn_through[i] for i in way])).query(states[fate == f])[1]
        edge[fate == f], fraction[fate == f] = of_point[nearest], at_point[nearest]
    return Places(edge.ravel(), fraction.ravel())
