"""How a fitted skeleton is stored, for every method alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from importlib.metadata import version
from math import isnan
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData
from scipy import sparse

from skeltraj import core
from skeltraj._keys import Column, Entry, Keys, Param, PrunedEntry, names
from skeltraj.core import Graph, Kept, Pruned, Removal, StartSupport, TipChoice
from skeltraj.core._learning.learned import Learned
from skeltraj.core._runtime.warn import warn
from skeltraj.get._reading.certainty import doubts
from skeltraj.tl._inputs.of_stored_fit import record
from skeltraj.tl._inputs.pick import Input

from .changes import Changes
from .denoiser import denoise_entry
from .forget import forget_ingested, forget_order, forget_ranked_genes


def refuse_foreign(adata: AnnData, keys: Keys, source: Input) -> None:
    """Raise if a fit, or what is made of it later, would overwrite or remove what no fit has stored."""
    there = adata.uns.get(keys.uns)
    own_input = keys.similarity in (
        source.recorded.get(name) for name in (Param.KERNEL, Param.DISTANCES, Param.NEIGHBORS)
    )
    # a fit that has lost its `uns`, as by concat, is known by other entries, or by the name of a method
    left = keys.key in core.METHODS or keys.assignment in adata.obsm or keys.position in adata.obsm
    obstacle = None
    if own_input or (there is None and keys.similarity in adata.obsp):
        obstacle = f"adata.obsp[{keys.similarity!r}], which is no fit's"
    elif there is not None and not (hasattr(there, "keys") and Entry.NODES in there):
        obstacle = f"adata.uns[{keys.uns!r}]"
    elif source.recorded.get(Param.USE_REP) == keys.coordinates:
        obstacle = f"the input, adata.obsm[{keys.coordinates!r}]"
    elif there is None and not left:
        of_a_fit = Changes()
        of_a_fit.remove("obsm", keys.coordinates, keys.assignment)
        of_a_fit.remove("varm", keys.loadings)
        forget_order(of_a_fit, keys)
        forget_ingested(of_a_fit, keys)
        foreign = of_a_fit.there(adata)
        if foreign:
            slot, name = foreign[0]
            obstacle = f"adata.{slot}[{name!r}], which is no fit's"
    if obstacle is not None:
        raise ValueError(f"key_added={keys.key!r} would overwrite {obstacle}; wanted another name.")


def store_skeleton(
    adata: AnnData, keys: Keys, learned: Learned, source: Input, method: core.Method, rng: Any = None
) -> None:
    """Store a fit with what was done before and after it, and remove what an earlier fit of that name left.

    Parameters
    ----------
    adata, keys
        Where to store, and under which name.
    learned
        The fit.
    source
        Its input.
    method
        By which it was made.
    rng
        What randomness came from: stored if it is a seed.
    """
    fit: Any = learned.fit
    shortfall = fit.shortfall()
    if shortfall is not None:
        warn(f"{method.name} {shortfall}")
    recorded = method.reads_input_again and Param.KERNEL not in source.recorded
    known = record(adata, source) if recorded else None
    changes = Changes()
    changes.put("obsm", keys.coordinates, fit.embedding)
    changes.put("obsm", keys.assignment, fit.assignment if method.stores_assignment else None)
    changes.put("obsp", keys.similarity, fit.similarity if method.joins_rows else None)
    forget_order(changes, keys)
    forget_ranked_genes(changes, adata, keys)
    forget_ingested(changes, keys)
    stored = _entry(learned, source, method, known)
    if isinstance(rng, Integral):
        seed = int(rng)
        stored[Entry.PARAMS][Param.RNG] = seed if seed <= np.iinfo(np.int64).max else str(seed)  # h5ad ends there
    loadings = stored.pop(Entry.LOADINGS) if source.per_gene and Entry.LOADINGS in stored else None
    changes.put("varm", keys.loadings, loadings)
    for doubt in doubts(stored, fit.graph, keys.key):
        warn(doubt)
    changes.put("uns", keys.uns, stored)
    changes.make(adata)


def _entry(learned: Learned, source: Input, method: core.Method, known: Mapping[str, Any] | None) -> dict[str, Any]:
    """The dictionary of a fit; `known` is what is recorded of its input, if that is read again."""
    fit: Any = learned.fit
    stored: dict[str, Any] = {
        # h5ad has no None
        Entry.PARAMS: {Param.METHOD: method.name, Param.VERSION: version("skeltraj"), **source.recorded}
        | {name: value for name, value in fit.params.items() if value is not None},
        Entry.NODES: fit.nodes,
        Entry.EDGES: fit.edges,
        Entry.EDGE_LENGTH: fit.edge_length,
        Entry.OBJECTIVE: fit.objective,
        Entry.CONVERGED: bool(fit.converged),
        Entry.N_ITER: int(fit.n_iter),
    }
    for name in fit.also_stored:
        value = getattr(fit, name)
        stored[name] = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    if known is not None:
        stored[Entry.INPUT] = known
    if method.can_be_relearned:
        stored[Entry.PARAMS][Param.N_STARTS] = 1 if learned.agreement is None else len(learned.agreement)
    if learned.smooth is not None:
        stored[Entry.DENOISE] = denoise_entry(learned.smooth)
    if learned.agreement is not None:
        stored[Entry.AGREEMENT] = learned.agreement
    if learned.tips is not None:
        stored[Entry.TIP_CHOICE] = _choice(learned.tips)
    if learned.starts is not None:
        stored[Entry.STARTS] = starts_entry(learned.fit.graph, learned.starts)
    if learned.pruning is not None:
        stored[Entry.PRUNED] = pruned_entry(learned.whole.graph, learned.fit.graph, learned.pruning)
    return stored


def starts_entry(graph: Graph, starts: StartSupport) -> pd.DataFrame:
    """What is stored of the starts: which branches of the tree the others have."""
    columns = {Column.SUPPORT: starts.support, Column.FOUND_AGAIN: starts.found}
    if not isnan(starts.order):
        columns[Column.ORDER] = np.full(len(starts.support), starts.order)
    return pd.DataFrame(columns, index=pd.Index(graph.branch_names, name="branch"))


def pruned_entry(whole: Graph, left: Graph, pruning: Pruned) -> dict[str, Any]:
    """What is stored of a pruning: what went from the tree `whole`, and that tree; what the branches `left` gain."""
    report = _rows_of(pruning.removed)
    report.insert(0, "what", pd.Series([removal.what for removal in pruning.removed], dtype=str))
    report.index = pd.Index(names("P", len(report)), name="pruned")
    kept = _rows_of(pruning.kept)
    ends = {
        frozenset(path[[0, -1]].tolist()): name for path, name in zip(left.branches, left.branch_names, strict=True)
    }
    kept.index = pd.Index([ends[frozenset((one.start, one.end))] for one in pruning.kept], name="branch", dtype=object)
    return {
        PrunedEntry.REPORT: report,
        PrunedEntry.KEPT: kept,
        PrunedEntry.NODES: whole.nodes,
        PrunedEntry.EDGES: whole.edges,
        PrunedEntry.PLACE: pruning.place,
        PrunedEntry.MIN_GAIN: float(pruning.min_gain),
        PrunedEntry.RESOLUTION: float(pruning.resolution),
    }


def _choice(tips: TipChoice) -> pd.DataFrame:
    """The numbers of tips between which was chosen, one in each row."""
    columns = {name: getattr(tips, name) for name in (Column.AGREEMENT, "gain", Column.VALUE)}
    return pd.DataFrame(columns, index=pd.Index(tips.n_tips.astype(str), name="n_tips", dtype=object))


def _rows_of(branches: Sequence[Removal | Kept]) -> pd.DataFrame:
    """Branches that were judged, one in each row."""
    whole = ("n_points", Column.START, Column.END)
    types = {
        name: np.int64 if name in whole else float for name in (Column.START, Column.END, "length", "n_points", "gain")
    }
    columns = {name: np.array([getattr(one, name) for one in branches], dtype=kind) for name, kind in types.items()}
    return pd.DataFrame(columns).rename(columns={"n_points": Column.N_CELLS})


# what stays when the tree of a fit is replaced by another
OF_THE_FIT = (
    Entry.PARAMS,
    Entry.INPUT,
    Entry.OBJECTIVE,
    Entry.CONVERGED,
    Entry.N_ITER,
    Entry.MEAN,
    Entry.LOADINGS,
    Entry.DENOISE,
    Entry.AGREEMENT,
    Entry.TIP_CHOICE,
    Entry.INGESTED,
)


def replace_skeleton(
    adata: AnnData,
    keys: Keys,
    graph: Graph,
    *,
    weights: np.ndarray | None = None,
    assignment: sparse.csr_matrix | None = None,
    coordinates: np.ndarray | None = None,
    more: Mapping[str, Any] | None = None,
    of_others: bool = False,
) -> None:
    """Put a skeleton made from a fitted one in its place, and remove its order and all else that belonged to it.

    `weights`, `assignment` and `coordinates` of the cells are stored where they are given, and `more` beside the
    skeleton; for `of_others` see `Changes.make`.
    """
    before = adata.uns[keys.uns]
    stored = {name: before[name] for name in OF_THE_FIT if name in before}
    if "n_nodes" in stored.get(Entry.PARAMS, {}):
        stored[Entry.PARAMS] = dict(stored[Entry.PARAMS]) | {"n_nodes": graph.n_nodes}
    stored |= {Entry.NODES: graph.nodes, Entry.EDGES: graph.edges, Entry.EDGE_LENGTH: graph.edge_length}
    if weights is not None:
        stored[Entry.WEIGHTS] = weights
    changes = Changes()
    if assignment is not None:
        changes.put("obsm", keys.assignment, assignment)
    if coordinates is not None:
        changes.put("obsm", keys.coordinates, coordinates)
    forget_order(changes, keys)
    forget_ranked_genes(changes, adata, keys)
    changes.put("uns", keys.uns, stored | dict(more or {}))
    changes.make(adata, of_others=of_others)
