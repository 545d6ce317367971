"""Stretches of an ordered tree laid side by side, as columns of a matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from skeltraj._keys import Place
from skeltraj._printing import Printed
from skeltraj.core import Graph, Position


@dataclass(frozen=True, eq=False, repr=False)
class Columns(Printed):
    """Columns at equal steps along a stretch.

    Parameters
    ----------
    stretch
        The name of the stretch.
    before, after
        Places between which each column lies, (n_columns,).
    weight
        Of the place after it, (n_columns,).
    branch
        Name of each column's branch, (n_columns,).
    pseudotime
        (n_columns,).
    column
        Column nearest to each cell, (n_obs,); -1 for cells elsewhere.
    """

    stretch: str
    before: np.ndarray
    after: np.ndarray
    weight: np.ndarray
    branch: np.ndarray
    pseudotime: np.ndarray
    column: np.ndarray

    def values(self, height: np.ndarray) -> np.ndarray:
        """Curves at the columns, (n_curves, n_columns), between those at places, (n_curves, n_places)."""
        first, second = height[:, self.before], height[:, self.after]
        return np.where(self.weight == 0, first, np.where(self.weight == 1, second, self._between(first, second)))

    def _between(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return first + self.weight * (second - first)

    def table(self, group: pd.Series | None) -> pd.DataFrame:
        """What the columns are; with a grouping of the cells the code of most cells' group, -1 where there are none."""
        n, on = len(self.before), self.column >= 0
        table = pd.DataFrame(
            {
                "stretch": self.stretch,
                Place.BRANCH: self.branch,
                Place.PSEUDOTIME: self.pseudotime,
                Place.N_CELLS: np.bincount(self.column[on], minlength=n),
            }
        )
        if group is not None:
            code = group.cat.codes.to_numpy()
            on = on & (code >= 0)
            n_groups = len(group.cat.categories)
            count = np.bincount(self.column[on] * n_groups + code[on], minlength=n * n_groups).reshape(n, n_groups)
            table[str(group.name)] = np.where(count.any(axis=1), count.argmax(axis=1) if n_groups else -1, -1)
        return table


@dataclass(frozen=True, eq=False, repr=False)
class Stretch(Printed):
    """A path away from the root.

    Parameters
    ----------
    name
        What it is called.
    path
        Its nodes, from the root outwards.
    start, end
        Pseudotime of its two ends.
    backwards
        Whether its columns run towards the root.
    """

    name: str
    path: np.ndarray
    start: float
    end: float
    backwards: bool = False

    @property
    def length(self) -> float:
        """In pseudotime."""
        return self.end - self.start

    def columns(self, tree: Graph, places: pd.DataFrame, cells: Position, known: np.ndarray, n: int) -> Columns:
        """`n` columns along the stretch, by the table of the places with curves, and where known cells lie."""
        edges = tree.edges_along(self.path)
        edge = _edge_of(tree, places)
        on = np.flatnonzero(np.isin(edge, edges))
        place_on_path = np.zeros(len(tree.edges), dtype=np.int64)
        place_on_path[edges] = np.arange(len(edges))
        # a fork is a place of every branch that meets there: they follow one another as on the path
        on = on[np.lexsort((place_on_path[edge[on]], places[Place.PSEUDOTIME].to_numpy()[on]))]
        time = places[Place.PSEUDOTIME].to_numpy()[on]
        at = self.start + (np.arange(n) + 0.5) / n * self.length
        after = np.clip(np.searchsorted(time, at), 1, len(on) - 1)
        gap = time[after] - time[after - 1]
        weight = np.divide(at - time[after - 1], gap, out=np.ones(n), where=gap > 0)
        nearer = np.where(weight > 0.5, after, after - 1)
        inside = known & np.isin(cells.edge, edges)
        share = cells.part(inside).distances_from(tree, int(self.path[0])) / (self.length or 1.0)
        column = np.full(len(known), -1)
        column[inside] = np.clip((share * n).astype(np.int64), 0, n - 1)
        turn = slice(None, None, -1 if self.backwards else 1)
        return Columns(
            stretch=self.name,
            before=on[after - 1][turn],
            after=on[after][turn],
            weight=np.clip(weight, 0.0, 1.0)[turn],
            branch=places[Place.BRANCH].astype(str).to_numpy()[on[nearer]][turn],
            pseudotime=at[turn],
            column=np.where(column < 0, -1, n - 1 - column) if self.backwards else column,
        )


def _edge_of(tree: Graph, places: pd.DataFrame) -> np.ndarray:
    """The edge on which each place lies."""
    edge = np.zeros(len(places), dtype=np.int64)
    branch, along = places[Place.BRANCH].astype(str).to_numpy(), places[Place.ALONG].to_numpy()
    for name, path in zip(tree.branch_names, tree.branches, strict=True):
        here = branch == name
        edges = tree.edges_along(path)
        ends = np.cumsum(tree.edge_length[edges])
        edge[here] = edges[np.clip(np.searchsorted(ends, along[here], side="left"), 0, len(edges) - 1)]
    return edge


def along_path(tree: Graph, root: int, lineage: str) -> list[Stretch]:
    """The stretch from the root to a tip."""
    tip = dict(zip(tree.tip_names, tree.tips.tolist(), strict=True))[lineage]
    return [_stretch(tree, root, lineage, tree.path(root, tip))]


def of_fork(tree: Graph, root: int, fork: int, name: str, trunk: bool) -> list[Stretch]:
    """What lies beyond a fork: of two arms one backwards and one onwards, each from the root or from the fork.

    Of more arms: the trunk, then each arm.
    """
    _refuse_loops(tree)
    from_root = tree.distances_from(root)
    if not np.isfinite(from_root[fork]):
        raise ValueError(f"no path leads from the root, node {root}, to the fork {name}.")
    reached, parent = tree.breadth_first(root)
    first = [int(node) for node in tree.neighbors(fork) if parent[node] == fork]
    if len(first) < 2:
        raise ValueError(f"{name} has {len(first)} branch(es) away from the root; wanted at least two.")
    first.sort(key=lambda node: tree.branch_of_edge[tree.edges_along(np.array([fork, node]))[0]])
    arm = {node: node for node in first}
    for node in reached:
        if int(parent[node]) in arm and int(node) not in arm:
            arm[int(node)] = arm[int(parent[node])]
    label = dict(zip(tree.tips.tolist(), tree.tip_names, strict=True))
    tips = []
    for node in first:
        ends = [tip for tip in label if arm.get(tip) == node]
        tips.append(max(ends, key=lambda tip: from_root[tip]))
    begin = root if trunk and len(tips) == 2 else fork
    arms = [_stretch(tree, root, f"to {label[tip]}", tree.path(begin, tip)) for tip in tips]
    if len(arms) == 2:
        return [Stretch(arms[0].name, arms[0].path, arms[0].start, arms[0].end, backwards=True), arms[1]]
    return ([_stretch(tree, root, f"to {name}", tree.path(root, fork))] if trunk and root != fork else []) + arms


def whole_tree(tree: Graph, root: int) -> list[Stretch]:
    """Every branch that can be reached from the root, as they are met going outwards, each arm to its end first.

    A branch on which the root lies is two stretches.
    """
    _refuse_loops(tree)
    from_root = tree.distances_from(root)
    pieces: dict[int, list[tuple[str, np.ndarray]]] = {}  # by their first node
    for name, branch in zip(tree.branch_names, tree.branches, strict=True):
        if not np.isfinite(from_root[branch[0]]):
            continue
        inside = np.flatnonzero(branch == root)
        cut = int(inside[0]) if len(inside) else 0
        halves = [branch[: cut + 1][::-1], branch[cut:]] if 0 < cut < len(branch) - 1 else [branch]
        for half in halves:
            outwards = half if from_root[half[0]] <= from_root[half[-1]] else half[::-1]
            pieces.setdefault(int(outwards[0]), []).append((str(name), outwards))
    stretches, stack = [], list(reversed(pieces.get(root, [])))
    while stack:
        name, path = stack.pop()
        stretch = _stretch(tree, root, name, path)
        if stretch.length > 0:  # nodes may lie at one place
            stretches.append(stretch)
        stack.extend(reversed(pieces.get(int(path[-1]), [])))
    return stretches


def _stretch(tree: Graph, root: int, name: str, path: np.ndarray) -> Stretch:
    time = tree.distances_from(root)
    return Stretch(name, path, float(time[path[0]]), float(time[path[-1]]))


def _refuse_loops(tree: Graph) -> None:
    if tree.n_loops:
        raise ValueError(
            f"the skeleton has {tree.n_loops} loop(s), so its branches have no order from the root; wanted a tree, or "
            "name a lineage."
        )
