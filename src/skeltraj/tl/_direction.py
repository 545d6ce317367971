from __future__ import annotations

from typing import Any

import numpy as np
from anndata import AnnData
from scipy import sparse

from skeltraj import core, get
from skeltraj._docs import shared_texts
from skeltraj._keys import Keys
from skeltraj._progress import Progress
from skeltraj.core._geometry.neighbors import PointTree
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.get._reading.checks import refuse_empty, refuse_mesh
from skeltraj.get._reading.coordinates import cells_in_embedding
from skeltraj.tl._inputs.copies import refuse_copy_on_disk
from skeltraj.tl._inputs.numbers import numbers_of_cells
from skeltraj.tl._inputs.pick import entry
from skeltraj.tl._inputs.velocity import velocity_of
from skeltraj.tl._results.write_direction import store_direction

_NEIGHBORS = "connectivities"  # where scanpy stores the neighbours over which scVelo averages
_N_NEIGHBORS = 30  # over which scVelo averages, if not told otherwise


@interruptible()
@as_declared
@shared_texts
def direction(
    adata: AnnData,
    velocity: str | None = None,
    *,
    score: str | None = None,
    rising: bool = True,
    basis: str | None = None,
    expression: str | None = None,
    neighbors: str | int | None = None,
    key: str = "ddrtree",
    n_permutations: int = 1000,
    rng: int | np.random.Generator = 0,
    progress: bool | None = None,
    copy: bool = False,
) -> AnnData | None:
    """Find which way each branch of the stored tree runs, and the root that agrees best with all of them.

    A branch runs towards the end that the velocities of its cells point to, or where a score is highest.
    ``tl.order(adata, root="direction")`` then uses the root that was found.

    Parameters
    ----------
    adata
        Annotated data with a fitted tree; the cells need not be ordered.
    velocity
        Velocity vectors as scVelo stores them: a layer ("velocity"), where genes that are NaN, and those that
        ``var["velocity_genes"]`` leaves out, do not count; or an entry of `obsm` ("velocity_pca", "velocity_umap").
        Layers come first. Cells with NaN among what is left, or a vector of length zero, are left out.
    score
        Instead of velocities: a numeric column of `obs`, or a gene (its values in `X`). Cells with NaN are left out.
    rising
        Whether the score rises along the process. False for scores that fall, such as CytoTRACE's and the number of
        genes that a cell expresses.
    basis
        Embedding to which the vectors in `obsm` belong, named as for scanpy. None: the one named after "velocity" in
        the key ("umap" for "velocity_umap").
    expression
        Layer with the expression that the velocities of a layer refer to, or "X". None: "Ms" if there is one, else "X".
    neighbors
        The cells over which the velocities or the score were averaged, since values that share cells are not
        independent: a key in `obsp` whose nonzero entries are the neighbours, or the number of cells nearest in the
        embedding, the cell itself included (1: values as measured), where two cells are neighbours if either is among
        the nearest of the other. None: 1 for a gene's values; otherwise "connectivities", over which scVelo averages,
        if there is one, or else 30.
    <key>
    <n_permutations>
    <rng>
    <progress>
    <copy>

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets ``.uns[key]["direction"]``, a dict that
    :func:`skeltraj.get.direction` reads back:

    ``branches`` : DataFrame
        For each branch: its ends ``start`` and ``end``; ``towards``, the one to which it runs (empty if neither);
        ``agreement`` with running from ``start`` to ``end``, from -1 to 1: mean cosine of the velocities with the
        direction of the branch, or rank correlation of the score with the place along it (of the negative score, if it
        falls); NaN without cells, or if the score is constant; two-sided ``p_value``; ``q_value``, adjusted over the
        branches by Benjamini and Hochberg; ``n_cells``.
    ``roots`` : DataFrame
        Tips and forks of the part of the skeleton with most cells, best first: ``node``; ``agreement``, mean over the
        branches of their agreement with running away from it, weighted by ``n_cells``; ``p_value``, how often
        permutations give some root as large a mean. Empty if there are none, as on a ring.
    ``margin`` : float
        By how much the agreement of the first root exceeds that of the second.
    ``params`` : dict
        `velocity`, `expression`, `basis`, `score`, `rising`, `neighbors` (as resolved), `n_permutations`.
    ``n_cells``, ``left_out`` :
        Cells used, and a dict with numbers of those without a ``branch`` (at nodes without edges) or a ``value``.

    It stays when the cells are ordered again, from any root, and is removed with the tree.

    Raises
    ------
    KeyError
        If there is no fit of that name, no such layer, entry, column, gene or basis.
    TypeError, ValueError
        If not exactly one of `velocity` and `score` is given, they do not fit the tree, the score is not numeric or is
        constant, or a number is out of range. `adata` is then unchanged.

    Notes
    -----
    The direction of a branch in the space of the vectors is the slope of the positions of its nodes there, each at the
    mean of its cells. Signs of velocities (for scores, ranks within branches) are permuted, and then averaged over
    `neighbors` like the values themselves; see :func:`skeltraj.core.direction`.

    <direction_level>

    Examples
    --------
    <example_fitted>
    >>> # a gene of progenitors
    >>> st.tl.direction(adata, score="Gata2", rising=False)
    >>> st.get.direction(adata).roots.index[0]
    'T3'
    >>> st.tl.order(adata, root="direction")
    """
    refuse_copy_on_disk(adata, copy)
    refuse_empty(adata)
    keys, graph = Keys(key), get.graph(adata, key)
    refuse_mesh(graph, key, "skeltraj.tl.direction")
    _check_arguments(velocity, score, rising, basis, expression)
    points = cells_in_embedding(adata, key, graph.nodes)
    position = core.locate(graph, points)
    values: dict[str, Any]
    if velocity is not None:
        found = velocity_of(adata, velocity, basis, expression, key)
        values, params = dict(vectors=found.vectors, node_places=found.node_places), dict[str, Any](found.recorded)
    else:
        numbers = numbers_of_cells(adata, str(score), "score")
        values, params = dict(score=numbers if rising else -numbers), dict[str, Any](score=score, rising=rising)
    if neighbors is None:
        is_gene = score is not None and score not in adata.obs
        neighbors = _NEIGHBORS if _NEIGHBORS in adata.obsp else min(_N_NEIGHBORS, adata.n_obs)
        neighbors = 1 if is_gene else neighbors
    with Progress("direction", progress) as shown:
        result = core.direction(
            graph,
            position,
            **values,
            neighbors=_graph_of(adata, neighbors, points),
            n_permutations=n_permutations,
            rng=rng,
            callback=shown.permutations,
        )
    params |= dict(neighbors=neighbors, n_permutations=result.n_permutations)
    alone = 0 if position.alone is None else int((position.alone >= 0).sum())
    left_out = dict(branch=alone, value=int((~result.used).sum()) - alone)
    adata = adata.copy() if copy else adata
    store_direction(adata, keys, graph, result, params, left_out)
    return adata if copy else None


def _check_arguments(
    velocity: str | None, score: str | None, rising: bool, basis: str | None, expression: str | None
) -> None:
    """Raise unless one of velocity and score is named, with what belongs to it."""
    given = {name: value for name, value in dict(velocity=velocity, score=score).items() if value is not None}
    if len(given) != 1:
        what = " and ".join(f"{name}={value!r}" for name, value in given.items()) or "neither velocity nor score"
        raise ValueError(f"{what} {'were' if given else 'was'} given; wanted one of velocity and score.")
    if velocity is not None and not rising:
        raise ValueError("rising=False was given with velocity; wanted it with a score.")
    for argument, given_value in dict(basis=basis, expression=expression).items():
        if score is not None and given_value is not None:
            raise ValueError(f"{argument}={given_value!r} was given with a score; wanted it with velocity.")


def _graph_of(adata: AnnData, neighbors: str | int, points: np.ndarray) -> sparse.csr_matrix | None:
    """The neighbours of each cell as a matrix, (n_obs, n_obs); None if values are as measured."""
    if isinstance(neighbors, str):
        return sparse.csr_matrix(entry(adata, "obsp", neighbors, "neighbors"))
    k = check.count(neighbors, "neighbors", at_most=adata.n_obs)
    if k == 1:
        return None
    nearest = PointTree(points).nearest(points, k)[0]
    linked = sparse.csr_matrix(
        (np.ones(nearest.size), nearest.ravel(), np.arange(0, nearest.size + 1, k)), shape=(adata.n_obs, adata.n_obs)
    )
    return linked + linked.T
