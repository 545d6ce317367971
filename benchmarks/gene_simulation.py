"""Counts of genes whose course along a tree is known: what `gene_levels.py`, `gene_power.py` and `gene_speed.py` read.

    python benchmarks/gene_simulation.py --tree fork --cells 800 --flat 300 --each 25 [--out cells.h5ad]
    python benchmarks/gene_simulation.py --quality FOLDER --shape bifurcation --level medium

Prints how many genes have which course, and with ``--out`` writes the cells. Nothing is learned here: the true tree is
stored as a fit would store it, its cells lie exactly on it, and they are ordered from the true root.

Counts are negative binomial. A gene's mean over the cells is log-uniform, its dispersion either log-uniform and
unrelated to the mean or a decreasing function of it with scatter, as in real data; size factors are log-uniform.
Its course (the logarithm of the mean, relative to the root) is one of

===================== ================================================= ========= ==================
pattern               the course                                        changes   differs (at a fork)
===================== ================================================= ========= ==================
flat                  the same everywhere                               no        no
trunk, step           a step within the trunk, which all arms keep      yes       no
trunk, peak           up and down again within the trunk                yes       no
arms alike            the same step in all arms of the fork             yes       no
one arm, at once      a step in the first quarter of one arm            yes       yes
one arm, steady       a straight line along one arm                     yes       yes
one arm, late         a step in the last two fifths of one arm          yes       yes
one arm, passing      up and down again within one arm                  yes       yes
===================== ================================================= ========= ==================

each with the sign drawn for the gene and with one of `SIZES` as its largest log fold change. Branches beyond an arm
keep the value at its end. Beside this a gene may have effects of batches, donors and a condition of the donors.

``--quality FOLDER`` takes the developers' trajectory benchmark instead (its `simulate.py`), which is not part of the
package. Which of its genes are flat is not known; beside each stands a decoy, whose counts were exchanged between cells
of about the same depth, and which is therefore flat.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
from scipy import sparse

import skeltraj as st

FLAT = "flat"
TRUNK = ("trunk, step", "trunk, peak")
ALIKE = "arms alike"
DIFFERS = ("one arm, at once", "one arm, steady", "one arm, late", "one arm, passing")
SIZES = {"small": np.log(1.5), "middle": np.log(2.0), "large": np.log(4.0)}
CONDITIONS = ("none", "shift", "slope")
STEP = 0.05  # between nodes, in units of a branch of mean length
BLOCK = 4_000_000  # entries of the counts that are drawn at once


@dataclass(frozen=True)
class Tree:
    """Branches, the trunk first: the parent of each (-1: none) and its length."""

    parent: tuple[int, ...]
    length: tuple[float, ...]

    @property
    def n_branches(self) -> int:
        """Number of branches."""
        return len(self.parent)

    @cached_property
    def forks(self) -> tuple[int, ...]:
        """The branches that end at a fork, the first one's first."""
        return tuple(sorted(set(self.parent) - {-1}))

    def children(self, branch: int) -> list[int]:
        """The branches that begin where `branch` ends."""
        return [i for i, parent in enumerate(self.parent) if parent == branch]

    def beyond(self, branch: int) -> list[int]:
        """All branches that come after `branch`."""
        return [way for child in self.children(branch) for way in (child, *self.beyond(child))]

    @cached_property
    def start(self) -> np.ndarray:
        """Path length from the root to where each branch begins."""
        start = np.zeros(self.n_branches)
        for i, parent in enumerate(self.parent):
            if parent >= 0:
                start[i] = start[parent] + self.length[parent]
        return start

    @cached_property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each branch begins and ends: each along an axis of its own, so that no two come near each other."""
        began = np.zeros((self.n_branches, max(2, self.n_branches)))
        ended = np.zeros_like(began)
        for i, parent in enumerate(self.parent):
            if parent >= 0:
                began[i] = ended[parent]
            ended[i] = began[i]
            ended[i, i] += self.length[i]
        return began, ended

    def points(self, branch: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Coordinates of points at these fractions of branches."""
        began, ended = self._ends
        return began[branch] + place[:, None] * (ended - began)[branch]

    @cached_property
    def graph(self) -> st.core.Graph:
        """The tree as nodes and edges, node 0 at the root."""
        nodes, edges, last = [np.zeros(max(2, self.n_branches))], [], {-1: 0}
        for i, parent in enumerate(self.parent):
            n = max(2, round(self.length[i] / STEP))
            before = last[parent]
            for point in self.points(np.full(n, i), np.arange(1, n + 1) / n):
                nodes.append(point)
                edges.append((before, len(nodes) - 1))
                before = len(nodes) - 1
            last[i] = before
        return st.core.Graph(np.array(nodes), np.array(edges))

    def name_at_end(self, branch: int) -> str:
        """What the fork or tip at the end of a branch is called once the tree is stored: "F1", "T2"."""
        node = int(np.square(self.graph.nodes - self._ends[1][branch]).sum(axis=1).argmin())
        kind, nodes = ("F", self.graph.forks) if self.children(branch) else ("T", self.graph.tips)
        return f"{kind}{nodes.tolist().index(node) + 1}"


TREES = {
    "line": Tree((-1,), (2.0,)),
    "fork": Tree((-1, 0, 0), (1.0, 1.0, 1.0)),
    "uneven fork": Tree((-1, 0, 0), (0.8, 1.4, 0.6)),
    "three arms": Tree((-1, 0, 0, 0), (1.0, 1.0, 1.0, 1.0)),
    "uneven three arms": Tree((-1, 0, 0, 0), (0.8, 1.5, 1.0, 0.5)),
    "two forks": Tree((-1, 0, 0, 1, 1), (1.0, 1.0, 1.0, 1.0, 1.0)),
    "uneven two forks": Tree((-1, 0, 0, 1, 1), (0.8, 0.7, 1.6, 1.2, 0.5)),
}


# ---- cells -----------------------------------------------------------------------------------------------------------


def cells_on(tree: Tree, n: int, rng: np.random.Generator, *, even: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Branch and place (fraction of it) of `n` cells: uniform on the tree, or branches and stretches unequally full."""
    share = np.array(tree.length)
    if not even:
        share = share * np.exp(0.5 * rng.standard_normal(tree.n_branches))
    branch = rng.choice(tree.n_branches, n, p=share / share.sum())
    if even:
        return branch, rng.random(n)
    shape = rng.uniform(0.7, 1.6, (tree.n_branches, 2))
    return branch, rng.beta(shape[branch, 0], shape[branch, 1])


def store_tree(adata: ad.AnnData, graph: st.core.Graph, points: np.ndarray, key: str) -> None:
    """Store a known tree and where the cells lie on it as a fit would, and order the cells from node 0."""
    position = st.core.locate(graph, points)
    n = len(points)
    assignment = sparse.csr_matrix((np.ones(n), position.nearest_end(graph), np.arange(n + 1)), (n, graph.n_nodes))
    adata.obsm[f"X_{key}"] = points
    adata.obsm[f"{key}_assignment"] = assignment
    adata.uns[key] = {
        "params": {"method": "ddrtree", "use_rep": f"X_{key}", "n_nodes": graph.n_nodes, "sigma": 0.0},
        "nodes": graph.nodes,
        "edges": graph.edges,
        "edge_length": graph.edge_length,
        "objective": np.array([1.0, 0.0]),
        "converged": np.bool_(True),
        "n_iter": 1,
    }
    st.tl.order(adata, root=0, key=key)


# ---- genes -----------------------------------------------------------------------------------------------------------


def patterns_of(tree: Tree) -> list[str]:
    """The patterns that genes can have on a tree, flat ones apart."""
    return [*TRUNK, *((ALIKE, *DIFFERS) if tree.forks else ())]


def gene_table(
    tree: Tree,
    rng: np.random.Generator,
    *,
    n_flat: int,
    n_each: int,
    patterns: list[str] | None = None,
    any_fork: bool = False,
    means: tuple[float, float] = (0.05, 10.0),
    dispersion: str = "unrelated",
) -> pd.DataFrame:
    """What is true of each gene: `n_flat` flat ones and `n_each` of each pattern, in a random order.

    Columns: ``pattern``, ``size`` (a key of `SIZES`, or "none"), ``effect`` (signed log fold change), ``fork`` and
    ``arm`` (branch that ends at the fork; branch that differs; -1: none), ``fork_name`` ("F1", or "none"), ``centre``,
    ``mean``, ``dispersion``, ``changes``, ``differs``.
    """
    names = [FLAT] * n_flat + [name for name in (patterns or patterns_of(tree)) for _ in range(n_each)]
    genes = pd.DataFrame({"pattern": rng.permutation(np.array(names, dtype=object))})
    n = len(genes)
    moving = (genes["pattern"] != FLAT).to_numpy()
    genes["size"] = np.where(moving, rng.choice(np.array(list(SIZES), dtype=object), n), "none")
    effect = genes["size"].map(SIZES).fillna(0.0).to_numpy(dtype=float)
    genes["effect"] = effect * rng.choice([-1.0, 1.0], n)
    at_fork = genes["pattern"].isin([ALIKE, *DIFFERS]).to_numpy()
    forks = np.array(tree.forks if any_fork else tree.forks[:1], dtype=int)
    genes["fork"] = np.where(at_fork, rng.choice(forks, n), -1) if len(forks) else -1
    genes["fork_name"] = [tree.name_at_end(fork) if fork >= 0 else "none" for fork in genes["fork"]]
    genes["differs"] = genes["pattern"].isin(DIFFERS)
    genes["arm"] = [
        rng.choice(tree.children(fork)) if differs else -1
        for fork, differs in zip(genes["fork"], genes["differs"], strict=True)
    ]
    genes["centre"] = rng.random(n)
    genes["mean"] = np.exp(rng.uniform(*np.log(means), n))
    genes["dispersion"] = _dispersions(genes["mean"].to_numpy(), dispersion, rng)
    genes["changes"] = moving
    genes.index = pd.Index([f"gene{i}" for i in range(n)])
    return genes


def _dispersions(means: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    if kind == "unrelated":
        return np.exp(rng.uniform(np.log(0.1), np.log(10.0), len(means)))
    if kind == "trend":
        return np.clip((0.15 + 0.6 / means) * np.exp(0.4 * rng.standard_normal(len(means))), 0.1, 10.0)
    raise ValueError(f"dispersion={kind!r}; wanted 'unrelated' or 'trend'.")


def course(tree: Tree, gene: pd.Series, branch: np.ndarray, place: np.ndarray) -> np.ndarray:
    """The course of a gene for an effect of 1, at these fractions of branches."""
    values = np.zeros(len(branch))
    name, centre = gene["pattern"], gene["centre"]
    if name in TRUNK:
        on = branch == 0
        step = name == TRUNK[0]
        curve = (lambda u: _step(u, 0.15 + 0.4 * centre, 0.3)) if step else (lambda u: _peak(u, 0.35 + 0.25 * centre))
        values[on] = curve(place[on])
        values[~on] = curve(np.ones(1))[0]
    elif name == ALIKE:
        arms = tree.children(gene["fork"])
        reach = (0.5 + 0.5 * centre) * min(tree.length[arm] for arm in arms)
        for arm in arms:
            on = branch == arm
            values[on] = _step(place[on] * tree.length[arm], 0.0, reach)
            values[np.isin(branch, tree.beyond(arm))] = 1.0
    elif name in DIFFERS:
        curve = {
            DIFFERS[0]: lambda u: _step(u, 0.0, 0.25),
            DIFFERS[1]: lambda u: u,
            DIFFERS[2]: lambda u: _step(u, 0.6, 0.4),
            DIFFERS[3]: lambda u: _peak(u, 0.4 + 0.2 * centre),
        }[name]
        on = branch == gene["arm"]
        values[on] = curve(place[on])
        values[np.isin(branch, tree.beyond(gene["arm"]))] = curve(np.ones(1))[0]
    return values


def _step(u: np.ndarray, start: float, width: float) -> np.ndarray:
    t = np.clip((u - start) / width, 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def _peak(u: np.ndarray, centre: float) -> np.ndarray:
    """Up and down again, exactly 0 at both ends."""
    t = np.clip(1.0 - np.abs(u - centre) / 0.3, 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


# ---- counts ----------------------------------------------------------------------------------------------------------


def simulate(
    tree: str = "fork",
    n_cells: int = 800,
    *,
    n_flat: int = 300,
    n_each: int = 25,
    patterns: list[str] | None = None,
    any_fork: bool = False,
    even: bool = True,
    means: tuple[float, float] = (0.05, 10.0),
    dispersion: str = "unrelated",
    size_factor_range: float = 5.0,
    batches: str = "none",
    n_donors: int = 0,
    donor_sd: float = 0.3,
    condition_share: float = 0.0,
    seed: int = 0,
    key: str = "ddrtree",
) -> ad.AnnData:
    """Cells on a known tree, stored and ordered under `key`, with counts in ``layers["counts"]`` (CSR, float32).

    Parameters
    ----------
    tree
        One of `TREES`.
    n_flat, n_each, patterns, any_fork, means, dispersion
        As in `gene_table`. Patterns at a fork are at the first one, or with `any_fork` at one drawn for the gene.
    even
        Cells uniformly on the tree; otherwise branches and stretches of them are unequally full.
    size_factor_range
        Ratio of the largest and the smallest size factor; log-uniform, with mean 1. The true ones are in
        ``obs["size_factor"]``.
    batches
        "none"; "even": two, unrelated to the tree; "along": the second one the likelier, the later a cell. Log-normal
        effects with sd .5 for each gene.
    n_donors
        0: none. Half of the donors have condition "a", half "b"; cells of donors are unequally many and lie everywhere
        on the tree. Each gene has log-normal donor effects with standard deviation `donor_sd`.
    condition_share
        Share of genes whose course differs between the conditions: half of them by a shift, half by a slope along
        pseudotime, with one of `SIZES`.

    Returns
    -------
    AnnData with ``obs``: ``true_branch`` (a number), ``true_pseudotime``, ``size_factor``, and ``batch``, ``donor``,
    ``condition`` where there are any; ``var``: the columns of `gene_table`, ``condition_pattern`` and
    ``condition_effect``.
    """
    shape = TREES[tree]
    rng = np.random.default_rng(seed)
    branch, place = cells_on(shape, n_cells, rng, even=even)
    pseudotime = shape.start[branch] + place * np.array(shape.length)[branch]
    size = np.exp(rng.uniform(0.0, np.log(size_factor_range), n_cells))
    obs = pd.DataFrame(index=pd.Index([f"cell{i}" for i in range(n_cells)]))
    obs["true_branch"], obs["true_pseudotime"], obs["size_factor"] = branch, pseudotime, size / size.mean()
    late = pseudotime / pseudotime.max()
    batch = _batch(batches, late, rng)
    if batch is not None:
        obs["batch"] = pd.Categorical(np.array(["one", "two"])[batch])
    donor = condition = None
    if n_donors:
        share = rng.gamma(4.0, size=n_donors)
        donor = rng.choice(n_donors, n_cells, p=share / share.sum())
        condition = donor % 2
        obs["donor"] = pd.Categorical([f"donor{i}" for i in donor])
        obs["condition"] = pd.Categorical(np.array(["a", "b"])[condition])
    options = dict(n_flat=n_flat, n_each=n_each, patterns=patterns, any_fork=any_fork)
    genes = gene_table(shape, rng, means=means, dispersion=dispersion, **options)
    kind = np.zeros(len(genes), dtype=int)
    if donor is not None and condition_share:
        kind = np.where(rng.random(len(genes)) < condition_share, rng.integers(1, 3, len(genes)), 0)
    genes["condition_pattern"] = np.array(CONDITIONS, dtype=object)[kind]
    signed = rng.choice(list(SIZES.values()), len(genes)) * rng.choice([-1.0, 1.0], len(genes))
    genes["condition_effect"] = np.where(kind > 0, signed, 0.0)

    blocks = []
    step = max(1, BLOCK // n_cells)
    offset = obs["size_factor"].to_numpy()
    for first in range(0, len(genes), step):
        part = genes.iloc[first : first + step]
        eta = np.column_stack([g["effect"] * course(shape, g, branch, place) for _, g in part.iterrows()])
        if batch is not None:
            eta += batch[:, None] * rng.normal(0.0, 0.5, len(part))
        if donor is not None:
            eta += rng.normal(0.0, donor_sd, (n_donors, len(part)))[donor]
            effect, which = part["condition_effect"].to_numpy(), part["condition_pattern"].to_numpy()
            eta += condition[:, None] * effect * np.where(which == "slope", late[:, None], 1.0)
        mean = np.exp(eta)
        mean *= part["mean"].to_numpy() / mean.mean(axis=0)
        blocks.append(sparse.csc_matrix(_draw(mean * offset[:, None], part["dispersion"].to_numpy(), rng)))
    adata = ad.AnnData(obs=obs, var=genes)
    adata.layers["counts"] = sparse.hstack(blocks, format="csr")
    store_tree(adata, shape.graph, shape.points(branch, place), key)
    adata.uns["simulation"] = {"tree": tree, "seed": seed}
    return adata


def _batch(kind: str, late: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    if kind == "none":
        return None
    if kind not in ("even", "along"):
        raise ValueError(f"batches={kind!r}; wanted 'none', 'even' or 'along'.")
    return (rng.random(len(late)) < (0.5 if kind == "even" else 0.2 + 0.6 * late)).astype(int)


def _draw(mean: np.ndarray, dispersion: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Negative binomial counts of these means (cells, genes): variance mean + dispersion mean^2."""
    return rng.poisson(rng.standard_gamma(1.0 / dispersion, mean.shape) * (mean * dispersion)).astype(np.float32)


def log_values(adata: ad.AnnData, offset: float = 1.0) -> sparse.csr_matrix:
    """Logarithm of the counts over the true size factors plus `offset`: what a Gaussian family is given."""
    counts = adata.layers["counts"].tocsr(copy=True)
    counts.data /= np.repeat(adata.obs["size_factor"].to_numpy(dtype=np.float32), np.diff(counts.indptr))
    counts.data = np.log(counts.data + offset) - np.log(offset)
    return counts


# ---- what other programs read ----------------------------------------------------------------------------------------


def lineages(adata: ad.AnnData) -> tuple[list[str], np.ndarray]:
    """The names of the tips at which lineages end, and whether each cell lies on the way to each, (n_cells, n)."""
    shape = TREES[adata.uns["simulation"]["tree"]]
    tips = [i for i in range(shape.n_branches) if not shape.children(i)]
    branch = adata.obs["true_branch"].to_numpy()
    on = [np.isin(branch, [i for i in range(shape.n_branches) if tip == i or tip in shape.beyond(i)]) for tip in tips]
    return [shape.name_at_end(tip) for tip in tips], np.column_stack(on)


# ---- another simulator -----------------------------------------------------------------------------------------------


def from_folder(
    folder: Path, shape: str, level: str, *, n_cells: int = 800, n_genes: int = 500, seed: int = 0, key: str = "ddrtree"
) -> ad.AnnData:
    """Cells of another simulator on its true tree; each gene once as it is and once as a decoy that is flat.

    Raises
    ------
    FileNotFoundError
        If there is no such simulator.
    """
    folder = Path(folder).resolve()
    if not (folder / "simulate.py").is_file():
        raise FileNotFoundError(f"{folder} holds no simulate.py: the developers' benchmark is not part of the package.")
    sys.path.insert(0, str(folder))
    try:
        import simulate as other
    finally:
        sys.path.remove(str(folder))
    drawn = other.simulate(shape, n_cells, n_genes, level, seed, preprocess=False)
    truth = drawn.uns["truth"]
    at = {truth["from"][0]: -1}
    parent = []
    for i, (a, b) in enumerate(zip(truth["from"], truth["to"], strict=True)):
        parent.append(at[a])
        at[b] = i
    tree = Tree(tuple(parent), tuple(float(length) for length in truth["length"]))
    branch, place = np.asarray(truth["edge"]), np.asarray(truth["fraction"])
    counts = drawn.layers["counts"].toarray()
    depth = counts.sum(axis=1)
    rng = np.random.default_rng(seed)
    decoys = counts.copy()
    by_depth = np.argsort(depth)
    for j in range(n_genes):  # among ten cells of about the same depth
        for first in range(0, n_cells, 10):
            group = by_depth[first : first + 10]
            decoys[group, j] = counts[rng.permutation(group), j]
    var = pd.DataFrame({"pattern": ["unknown"] * n_genes + [FLAT] * n_genes})
    var["size"], var["mean"] = "none", np.tile(counts.mean(axis=0), 2)
    var["changes"] = var["differs"] = (var["pattern"] != FLAT).to_numpy()
    var.index = pd.Index([*(f"gene{i}" for i in range(n_genes)), *(f"decoy{i}" for i in range(n_genes))])
    obs = pd.DataFrame(index=drawn.obs_names)
    obs["true_branch"], obs["true_pseudotime"] = branch, np.asarray(truth["pseudotime"])
    obs["size_factor"] = depth / depth.mean()
    adata = ad.AnnData(obs=obs, var=var)
    adata.layers["counts"] = sparse.csr_matrix(np.hstack([counts, decoys]).astype(np.float32))
    name = f"{shape}, {level}, {seed}"
    TREES[name] = tree
    store_tree(adata, tree.graph, tree.points(branch, place), key)
    adata.uns["simulation"] = {"tree": name, "seed": seed}
    return adata


def main() -> None:
    """Simulate, and say what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", default="fork", choices=TREES)
    parser.add_argument("--cells", type=int, default=800)
    parser.add_argument("--flat", type=int, default=300)
    parser.add_argument("--each", type=int, default=25)
    parser.add_argument("--dispersion", default="unrelated", choices=("unrelated", "trend"))
    parser.add_argument("--batches", default="none", choices=("none", "even", "along"))
    parser.add_argument("--donors", type=int, default=0)
    parser.add_argument("--uneven", action="store_true", help="branches and stretches of them unequally full")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quality", type=Path, help="a folder with another simulator")
    parser.add_argument("--shape", default="bifurcation")
    parser.add_argument("--level", default="medium")
    parser.add_argument("--out", type=Path, help="an h5ad file")
    asked = parser.parse_args()
    if asked.quality is not None:
        adata = from_folder(asked.quality, asked.shape, asked.level, n_cells=asked.cells, seed=asked.seed)
    else:
        adata = simulate(
            asked.tree,
            asked.cells,
            n_flat=asked.flat,
            n_each=asked.each,
            dispersion=asked.dispersion,
            batches=asked.batches,
            n_donors=asked.donors,
            even=not asked.uneven,
            seed=asked.seed,
        )
    counts = adata.layers["counts"]
    print(f"{adata.n_obs} cells, {adata.n_vars} genes, {counts.nnz / np.prod(counts.shape):.0%} of the counts above 0")
    print(adata.uns["ddrtree"]["order"]["branches"].to_string())
    print(adata.var.groupby(["pattern", "size"], sort=False).size().to_string())
    if asked.out is not None:
        adata.write_h5ad(asked.out)


if __name__ == "__main__":
    main()
