from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from anndata import AnnData

from skeltraj import core, get
from skeltraj._docs import shared_texts
from skeltraj._keys import Column, Entry, Keys, Param
from skeltraj.core._branches.prune import MIN_GAIN
from skeltraj.core._learning.learned import pruned
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.tl._inputs.copies import refuse_copy_on_disk
from skeltraj.tl._inputs.of_stored_fit import stored_input
from skeltraj.tl._results.read_fit import stored_fit, unchanged
from skeltraj.tl._results.write_fit import pruned_entry, replace_skeleton


@interruptible()
@as_declared
@shared_texts
def prune(
    adata: AnnData,
    *,
    key: str = "ddrtree",
    min_gain: float = MIN_GAIN,
    n_tips: int | Literal["auto"] | None = None,
    resolution: float | None = None,
    undo: bool = False,
    copy: bool = False,
) -> AnnData | None:
    """Remove branches of the stored tree that the data do not support, and merge forks that cannot be distinguished.

    A branch stays if it describes held-out coordinates, which were not used to decide which cells lie on it,
    sufficiently better than the tree without it; see :func:`skeltraj.core.prune` for the rule. `tl.ddrtree` and
    `tl.principal_tree` prune by this rule unless told otherwise, and choose the number of tips; here the number is
    given, or follows from the limit `min_gain`, which may leave a different number from the one that the fit chose. The
    tree as it was fitted is kept: pruning again begins with it, and ``undo=True`` restores it, with all branches.

    The order of the cells is removed, since it belongs to the old tree: order them again. All other results of the old
    tree are removed as well: tests and curves of genes, composition, survival, stability, direction, and ``starts``,
    the support of the branches in the other trees of the fit.

    Parameters
    ----------
    adata
        Annotated data with a tree by `tl.ddrtree` or `tl.principal_tree`, and the input of that fit.
    <key>
    min_gain
        Smallest gain of a branch that stays: the share by which the cells are farther from the tree, in held-out
        coordinates, without it. 0: only branches without which these distances are shorter are removed.
    n_tips
        How many tips to leave, from 2 to as many as the tree had when it was fitted, instead of `min_gain`.
        "auto": as many as the fit chose, the number with the largest ``value`` in ``uns["ddrtree"]["tip_choice"]``.
    resolution
        Smallest distance between two forks along the tree, in units of the fit: those of the embedding, or of the
        input of a principal tree, with noise equalized if it was. 0 keeps all. None: ``3 sqrt(sigma)`` with the fit's
        bandwidth.
    undo
        Restore the tree as it was fitted.
    <copy>

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets the following fields (for ``key="ddrtree"``):

    ``.uns["ddrtree"]`` : dict
        ``nodes``, ``edges``, ``edge_length``: the tree that remains. ``pruned``: dict of ``report``, a table of what
        was removed, in order of removal (``what``: "branch" or "forks"; ``start``, ``end``, nodes of the tree as
        fitted; ``length``; ``n_cells``, among at most 3,000 cells that are drawn for judging; ``gain``, for branches);
        ``kept``, a table of the remaining branches with a tip, smallest gain first (by name; ``start``, its tip, and
        ``end``, its fork, as nodes of the present tree; the rest as before); ``nodes`` and ``edges`` as fitted;
        ``place``, the number that each of these nodes has now, -1 if it is gone; ``resolution`` as resolved, and
        ``min_gain`` (with `n_tips`, a value that leaves as many, if there is one).
    ``.obsm["ddrtree_assignment"]`` : CSR matrix
        Assignment to the remaining nodes.
    ``.obsm["X_ddrtree"]``
        Stays as it is; for `tl.principal_tree`, where the tree that is left holds the cells.

    Raises
    ------
    KeyError
        If there is no fit of that name, its input is gone, there is nothing to undo, or the fit chose no number of
        tips.
    ValueError
        If the skeleton is of another method (`tl.drtree`, `tl.principal_graph`), was changed since it was fitted
        (`tl.attach`, `tl.select_path`), its input is not what it was fitted on, or a parameter is out of range. `adata`
        is then unchanged.

    Examples
    --------
    <example_fitted>
    >>> st.tl.prune(adata, n_tips=3)
    >>> len(st.get.graph(adata).tips)
    3
    >>> st.tl.prune(adata, undo=True)  # the tree as it was fitted
    >>> len(st.get.graph(adata).tips)
    5
    """
    refuse_copy_on_disk(adata, copy)
    keys, stored = Keys(key), get.stored(adata, key)
    if undo and (min_gain != MIN_GAIN or n_tips is not None or resolution is not None):
        raise ValueError(
            f"undo=True with min_gain={min_gain!r}, n_tips={n_tips!r}, resolution={resolution!r}; wanted undo alone."
        )
    if n_tips is not None and min_gain != MIN_GAIN:
        raise ValueError(f"n_tips={n_tips!r} with min_gain={min_gain!r}; wanted one of them.")
    if undo and Entry.PRUNED not in stored:
        raise KeyError(f"undo=True, but adata.uns[{key!r}] holds no pruned tree.")
    wanted: Any = _chosen(stored, key) if n_tips == "auto" else n_tips
    unchanged(adata, key)
    if undo:
        learned = stored_fit(adata, key)
    else:
        source, columns = stored_input(adata, key)
        whole = stored_fit(adata, key, columns)
        _refuse_more(n_tips, len(whole.whole.graph.tips))
        learned = pruned(whole, source.matrix, min_gain=min_gain, n_tips=wanted, resolution=resolution)
    fit = learned.fit
    adata = adata.copy() if copy else adata
    of_method = core.METHODS[stored[Entry.PARAMS][Param.METHOD]].result.also_stored
    more = {name: getattr(fit, name) for name in of_method if name in stored}
    if learned.pruning is not None:
        more[Entry.PRUNED] = pruned_entry(learned.whole.graph, fit.graph, learned.pruning)
    # where nodes have coordinates in the input, the cells' are means of them
    coordinates = fit.embedding if fit.node_space == "input" else None
    replace_skeleton(
        adata, keys, fit.graph, assignment=fit.assignment, coordinates=coordinates, more=more, of_others=copy
    )
    return adata if copy else None


def _refuse_more(n_tips: int | str | None, there: int) -> None:
    """Raise if more tips are asked for than there are."""
    if n_tips not in (None, "auto") and check.count(n_tips, "n_tips", at_least=2, why=", or 'auto'") > there:
        raise ValueError(f"n_tips={n_tips}: the tree as it was fitted has {there} tips; wanted at most as many.")


def _chosen(stored: Mapping[str, Any], key: str) -> int:
    """The number of tips that the fit chose."""
    if Entry.TIP_CHOICE not in stored:
        raise KeyError(
            f"n_tips='auto', but adata.uns[{key!r}] holds no choice of a number of tips, as of a fit that was given "
            "one or was not pruned; wanted a number."
        )
    return int(stored[Entry.TIP_CHOICE][Column.VALUE].idxmax())
