"""What stands in the dictionary of a fit: each entry is described here, and read through here."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from importlib.metadata import version
from typing import Any

import numpy as np

from skeltraj._keys import (
    Column,
    CompositionEntry,
    DenoiseEntry,
    DirectionEntry,
    Entry,
    IngestedEntry,
    InputEntry,
    OrderEntry,
    Param,
    PathEntry,
    Place,
    PrunedEntry,
    StabilityEntry,
    SurvivalEntry,
    SurvivalParam,
    TestEntry,
    TrendsEntry,
)

from .forms import Each, Fields, Form, Table, Values, fault

FORMAT = 1  # of what is stored; a fit without a number has it

_REAL, _ANY, _WHOLE, _TEXT, _FLAG = (
    Values(),
    Values(finite=False),
    Values("whole"),
    Values("text"),
    Values("flag"),
)
_COUNT, _NODE = Values("whole", least=0), Values("whole", of="nodes", least=0)
_NAMES = Values("text", ("names",))


def _columns(form: Values, *names: str) -> dict[str, Values]:
    return dict.fromkeys(names, form)


_JUDGED = _columns(_REAL, "length") | _columns(_COUNT, Column.START, Column.END, Column.N_CELLS)
_INTERVAL = _columns(_ANY, "median", "restricted_mean") | _columns(_COUNT, Column.N_SAMPLES, Column.N_EVENTS)
_CURVE = _columns(_ANY, Column.TIME, "survival", "low", "high") | _columns(_COUNT, "n_risk", "n_events", "n_censored")
_TEST: dict[str, Form] = {TestEntry.FAMILY: _TEXT, TestEntry.COVARIATES: Values("text", ("covariates",))}
_TEST_MORE: dict[str, Form] = {TestEntry.LAYER: _TEXT, TestEntry.N_CELLS: _COUNT, TestEntry.N_GENES: _COUNT}
_TEST_MORE |= {TestEntry.DIGEST: Values("real", ("sums",))}
_TESTED = Fields(_TEST, _TEST_MORE)

# The fit itself, and what is true of it whatever was made of it.
_FIT = Fields(
    {
        Entry.NODES: Values("real", ("nodes", "dimensions")),
        Entry.EDGES: Values("whole", ("edges", 2), of="nodes", least=0),
    },
    {
        Entry.PARAMS: Fields({}, {Param.METHOD: _TEXT, Param.VERSION: _TEXT, Param.USE_REP: _TEXT, Param.LAYER: _TEXT}),
        Entry.EDGE_LENGTH: Values("real", ("edges",), least=0),
        Entry.WEIGHTS: Values("real", ("edges",), least=0),
        Entry.OBJECTIVE: Values("real", ("rounds",)),
        Entry.CONVERGED: _FLAG,
        Entry.N_ITER: _COUNT,
        Entry.MEAN: Values("real", ("columns",)),
        Entry.LOADINGS: Values("real", ("columns", "components")),
        Entry.VALUE: _REAL,
        Entry.AGREEMENT: Values("real", ("starts",), finite=False),
        Entry.INPUT: Fields(
            {
                InputEntry.N_COLUMNS: _COUNT,
                InputEntry.CELLS: Values("text", ("cells compared",)),
                InputEntry.SIZE: Values("real", ("cells compared",), least=0),
                InputEntry.NUMBER: Values("real", ("cells compared",)),
            },
            {InputEntry.VAR_NAMES: Values("text", ("columns of the input",))},
        ),
        Entry.DENOISE: Fields(
            {
                DenoiseEntry.REFERENCE: Values("real", ("cells denoised", "leading components")),
                DenoiseEntry.MEANS: Values("real", ("cells denoised", "leading components")),
                DenoiseEntry.AXES: Values("real", ("cells denoised", "leading components", "tangents")),
                DenoiseEntry.LOADINGS: Values("real", ("columns denoised", "leading components")),
                DenoiseEntry.MEAN: Values("real", ("columns denoised",)),
                DenoiseEntry.N_NEIGHBORS: _COUNT,
                DenoiseEntry.N_STEPS: _COUNT,
            },
            {
                DenoiseEntry.UNMIXING: Values("real", ("leading components", "directions")),
                DenoiseEntry.MEDIANS: Values("real", ("directions",)),
            },
        ),
        Entry.STARTS: Table(_columns(_ANY, Column.SUPPORT, Column.FOUND_AGAIN)),
        Entry.TIP_CHOICE: Table(_columns(_ANY, Column.AGREEMENT, "gain", Column.VALUE)),
        Entry.PRUNED: Fields(
            {
                PrunedEntry.NODES: Values("real", ("nodes as fitted", "dimensions")),
                PrunedEntry.EDGES: Values("whole", ("edges as fitted", 2), of="nodes as fitted", least=0),
                PrunedEntry.PLACE: Values("whole", ("nodes as fitted",), of="nodes", least=-1),
                PrunedEntry.REPORT: Table(_JUDGED | {"what": _TEXT, "gain": _ANY}),
                PrunedEntry.MIN_GAIN: Values(least=0),
                PrunedEntry.RESOLUTION: Values(least=0),
            },
            {PrunedEntry.KEPT: Table(_JUDGED | {"gain": _REAL})},
        ),
        Entry.ATTACHED: Table(
            {"edge": Values("whole", of="edges", least=0), "node_a": _NODE, "node_b": _NODE, "length": _REAL}
        ),
        # files that were written before paths had names have none
        Entry.PATH: Fields(
            {},
            {
                PathEntry.TIPS: Values("text", ("tips",)),
                PathEntry.FORKS: Values("text", ("forks",)),
                PathEntry.BRANCHES: Values("text", ("branches",)),
            },
        ),
        Entry.INGESTED: Fields({IngestedEntry.N_OBS: _COUNT, IngestedEntry.QUANTILE: _REAL}),
    },
)

# What was made of it: how each looks, and the call that makes it again.
_MADE: dict[str, tuple[Form, str]] = {
    Entry.ORDER: (
        Fields(
            {
                OrderEntry.ROOT: _NODE,
                OrderEntry.RULE: _TEXT,
                OrderEntry.NODE_PSEUDOTIME: Values("real", ("nodes",), least=0, finite=False),
                OrderEntry.TIPS: Table({"node": _NODE}),
                OrderEntry.FORKS: Table({"node": _NODE}),
                OrderEntry.BRANCHES: Table(
                    {Column.START: _TEXT, Column.END: _TEXT, "length": Values(least=0), Column.N_CELLS: _COUNT}
                ),
            },
            {OrderEntry.RANKING: Table({"node": _NODE, "mean_path_length": _REAL})},
        ),
        "order(adata, root=..., ",
    ),
    Entry.STABILITY: (
        Fields(
            {
                StabilityEntry.BRANCHES: Table(
                    _columns(_ANY, Column.SUPPORT, Column.FOUND_AGAIN, Column.OVERLAP) | _columns(_COUNT, "n_cells")
                ),
                StabilityEntry.FORKS: Table(
                    _columns(_ANY, Column.SUPPORT, Column.TRIPLETS) | {"node": _NODE, "n_sides": _COUNT}
                ),
                StabilityEntry.EDGES: Table(
                    {"source": _NODE, "target": _NODE, "branch": _TEXT, Column.SUPPORT: _ANY}, rows="edges"
                ),
                StabilityEntry.CONSENSUS: Fields(
                    {
                        StabilityEntry.NODES: Values("real", ("nodes of the consensus", "dimensions")),
                        StabilityEntry.EDGES: Values(
                            "whole", ("edges of the consensus", 2), of="nodes of the consensus", least=0
                        ),
                        StabilityEntry.PLACE: Values("whole", ("nodes",), of="nodes of the consensus", least=-1),
                    }
                ),
                StabilityEntry.N_REPLICATES: _COUNT,
                StabilityEntry.VARY: _NAMES,
            }
        ),
        "stability(adata, ",
    ),
    Entry.COMPOSITION: (
        Each(
            Fields(
                {
                    CompositionEntry.BRANCHES: Table(
                        _columns(_TEXT, "group", "branch")
                        | _columns(_COUNT, Column.N_CELLS)
                        | _columns(
                            _ANY,
                            "share_of_branch",
                            "share_of_group",
                            "log2_enrichment",
                            Column.P_VALUE,
                            Column.Q_VALUE,
                        )
                    ),
                    CompositionEntry.PSEUDOTIME: Table(
                        {"group": _TEXT, Column.N_CELLS: _COUNT}
                        | _columns(_ANY, "shift", "shift_p_value", "shift_q_value")
                        | _columns(_ANY, "largest_gap", "gap_p_value", "gap_q_value")
                    ),
                    CompositionEntry.BINS: Table(
                        _columns(_TEXT, "lineage", "group")
                        | _columns(_COUNT, "bin", Column.N_CELLS)
                        | _columns(_ANY, Column.START, Column.END, "share")
                    ),
                    CompositionEntry.PROGRESS: Table(
                        _columns(_TEXT, "group", "other", "branch")
                        | _columns(_ANY, "difference", Column.P_VALUE, Column.Q_VALUE)
                    ),
                    CompositionEntry.CHI2: _ANY,
                    CompositionEntry.CHI2_P_VALUE: _ANY,
                    CompositionEntry.PERMUTED: _TEXT,
                    CompositionEntry.N_PERMUTATIONS: _COUNT,
                    CompositionEntry.N_DISTINCT: _ANY,
                    CompositionEntry.SMALLEST_P_VALUE: _ANY,
                    CompositionEntry.N_CELLS: _COUNT,
                    CompositionEntry.LEFT_OUT: Each(_COUNT),
                },
                {CompositionEntry.SAMPLE: _TEXT},
            )
        ),
        "composition(adata, ..., ",
    ),
    Entry.SURVIVAL: (
        Fields(
            {
                SurvivalEntry.COEFFICIENTS: Table(
                    _columns(_TEXT, "model", "term")
                    | _columns(_ANY, "log_hazard_ratio", "standard_error", "hazard_ratio", "low", "high")
                    | _columns(_ANY, "z", Column.P_VALUE)
                    | _columns(_ANY, "proportional_slope", "proportional_chi2", "proportional_p_value")
                ),
                SurvivalEntry.TESTS: Table(
                    _columns(_TEXT, "of", "test") | _columns(_ANY, "chi2", Column.P_VALUE) | {"df": _COUNT}
                ),
                SurvivalEntry.MODELS: Table({"model": _TEXT} | _columns(_COUNT, Column.N_SAMPLES, Column.N_EVENTS)),
                SurvivalEntry.BRANCHES: Table({"branch": _TEXT} | _INTERVAL),
                SurvivalEntry.STRETCHES: Table(
                    {"stretch": _COUNT} | _INTERVAL | _columns(_ANY, Column.START, Column.END)
                ),
                SurvivalEntry.BRANCH_CURVES: Table({"branch": _TEXT} | _CURVE),
                SurvivalEntry.STRETCH_CURVES: Table({"stretch": _COUNT} | _CURVE),
                SurvivalEntry.LEFT_OUT: Table({"lacks": _TEXT, Column.N_SAMPLES: _COUNT}),
                SurvivalEntry.PARAMS: Fields(
                    {
                        SurvivalParam.TIME: _TEXT,
                        SurvivalParam.EVENT: _TEXT,
                        SurvivalParam.PSEUDOTIME_SD: _ANY,
                        SurvivalParam.HORIZON: _ANY,
                        SurvivalParam.N_SAMPLES: _COUNT,
                        SurvivalParam.N_EVENTS: _COUNT,
                    },
                    {SurvivalParam.COVARIATES: _NAMES, SurvivalParam.REFERENCE: _TEXT},
                ),
            }
        ),
        "survival(adata, time=..., event=..., ",
    ),
    Entry.DIRECTION: (
        Fields(
            {
                DirectionEntry.BRANCHES: Table(
                    _columns(_TEXT, Column.START, Column.END, "towards")
                    | _columns(_ANY, Column.AGREEMENT, Column.P_VALUE, Column.Q_VALUE)
                    | {Column.N_CELLS: _COUNT}
                ),
                DirectionEntry.ROOTS: Table({"node": _NODE} | _columns(_ANY, Column.AGREEMENT, Column.P_VALUE)),
                DirectionEntry.MARGIN: _ANY,
                DirectionEntry.PARAMS: Fields({}),
                DirectionEntry.N_CELLS: _COUNT,
                DirectionEntry.LEFT_OUT: Each(_COUNT),
            }
        ),
        "direction(adata, ..., ",
    ),
    Entry.ASSOCIATION: (_TESTED, "association(adata, "),
    Entry.CONDITION_TEST: (
        Fields(_TEST | {TestEntry.CONDITION: _TEXT}, _TEST_MORE),
        "association(adata, condition=..., ",
    ),
    Entry.BRANCH_TEST: (
        Each(Fields(_TEST, _TEST_MORE | {TestEntry.KIND: _TEXT, TestEntry.ARMS: Table({Column.N_CELLS: _COUNT})})),
        "branch_test(adata, ",
    ),
    Entry.COLUMN_ASSOCIATION: (
        Table(
            {TestEntry.FAMILY: _TEXT}
            | _columns(_ANY, Column.SCORE, Column.P_VALUE, Column.Q_VALUE, Column.CHANGE, Column.DEVIANCE_EXPLAINED)
        ),
        "association(adata, columns=[...], ",
    ),
    Entry.COLUMN_TEST: (
        Fields({TestEntry.COVARIATES: Values("text", ("covariates",)), TestEntry.N_CELLS: _COUNT}, {}),
        "association(adata, columns=[...], ",
    ),
    Entry.TRENDS: (
        Fields(
            _TEST
            | {
                TrendsEntry.PLACES: Table(
                    {Place.BRANCH: _TEXT, Place.ALONG: Values(least=0), Place.PSEUDOTIME: Values(least=0)}
                    | _columns(Values(least=0), Place.SUPPORT, Place.N_CELLS)
                )
            },
            _TEST_MORE | {TrendsEntry.CLUSTERS: Fields({TrendsEntry.EXPLAINED: _ANY})},
        ),
        "trends(adata, ",
    ),
}


def again(name: str, key: str) -> str:
    """The call that makes an entry anew, in words."""
    return f"Run skeltraj.tl.{_MADE[name][1]}key={key!r}) again."


def check_fit(fit: Mapping[str, Any], key: str) -> None:
    """Raise if the fit itself, without what was made of it, is damaged or of a later version.

    Raises
    ------
    ValueError
        The message says what is wrong, and what to call.
    """
    params = fit.get(Entry.PARAMS)
    number = params.get(Param.FORMAT, FORMAT) if isinstance(params, Mapping) else FORMAT
    if fault(number, _COUNT, {}, "") is not None or int(number) > FORMAT:
        raise ValueError(
            f"adata.uns[{key!r}] is stored in format {number!r}, and skeltraj {version('skeltraj')} reads formats up "
            f"to {FORMAT}; wanted a later version{_fit_label(fit)}, or a new fit."
        )
    sizes: dict[str, int] = {}
    wrong = fault(fit, _FIT, sizes, f"adata.uns[{key!r}]")
    if wrong is None and Entry.EDGE_LENGTH in fit:
        wrong = _wrong_lengths(fit, key)
    if wrong is not None:
        raise ValueError(f"{wrong} It was changed since it was stored{_of_version(fit)}: fit again.")


def _wrong_lengths(fit: Mapping[str, Any], key: str) -> str | None:
    """What is wrong if the edges are not as long as they are said to be."""
    nodes, edges = np.asarray(fit[Entry.NODES], dtype=np.float64), np.asarray(fit[Entry.EDGES], dtype=np.int64)
    size = float(np.abs(nodes).max(initial=0.0)) or 1.0
    ends = nodes[edges] / size
    length = np.sqrt(((ends[:, 0] - ends[:, 1]) ** 2).sum(axis=1))
    other = np.flatnonzero(np.abs(length - np.asarray(fit[Entry.EDGE_LENGTH], dtype=np.float64) / size) > _TOLERANCE)
    if not len(other):
        return None
    return (
        f"adata.uns[{key!r}][{Entry.EDGE_LENGTH!r}] is not the distance between the nodes of {len(other)} of "
        f"{len(edges)} edges."
    )


_TOLERANCE = 1e-3  # of lengths, as a share of the largest coordinate: far above float16's rounding; chosen by eye


def made(fit: Mapping[str, Any], name: str, key: str, one: str | None = None) -> Any:
    """What was made of a fit under `name`, checked; None if nothing was.

    Of what holds several results (compositions, tests of forks), the one that is called `one` is checked and given;
    without a name the dictionary of all, not checked.

    Raises
    ------
    ValueError
        If it is damaged, or was made of another tree or root; the message says what is wrong, and what to call.
    """
    if name not in fit:
        return None
    form, _ = _MADE[name]
    at = f"adata.uns[{key!r}][{name!r}]"
    entry = fit[name]
    if isinstance(form, Each):  # several results, each read by itself
        if one is None:
            form = Each(Fields({}))
        elif isinstance(entry, Mapping) and one not in entry:
            return None
        elif isinstance(entry, Mapping):
            form, at, entry = form.form, f"{at}[{one!r}]", entry[one]
    sizes = {"nodes": len(fit[Entry.NODES]), "edges": len(fit[Entry.EDGES])}
    sizes["dimensions"] = np.shape(fit[Entry.NODES])[1]
    wrong = fault(entry, form, sizes, at)
    if wrong is not None:
        raise ValueError(f"{wrong} It was changed since it was stored{_of_version(fit)}. {again(name, key)}")
    if isinstance(entry, Mapping) and Entry.MADE_OF in entry and entry[Entry.MADE_OF] != mark(fit, name):
        raise ValueError(f"{at} was made of another tree, or from another root, than is stored. {again(name, key)}")
    return entry


def mark(fit: Mapping[str, Any], name: str) -> str:
    """By what is known of which tree, and from which root, something was made: a digest.

    Of single precision, so that it stays the same in files that have no other.
    """
    nodes, edges = np.asarray(fit[Entry.NODES], dtype=np.float64), np.asarray(fit[Entry.EDGES], dtype=np.int64)
    _, exponent = np.frexp(np.abs(nodes).max(initial=0.0))
    digest = blake2b(np.ldexp(nodes, -int(exponent)).astype("<f4").tobytes(), digest_size=8)
    digest.update(edges.astype("<i8").tobytes())
    if name != Entry.DIRECTION and Entry.ORDER in fit:  # which asks for no root
        digest.update(str(int(fit[Entry.ORDER][OrderEntry.ROOT])).encode())
    return digest.hexdigest()


def _fit_label(fit: Mapping[str, Any]) -> str:
    there = fit[Entry.PARAMS].get(Param.VERSION) if isinstance(fit.get(Entry.PARAMS), Mapping) else None
    return f", as {there}" if isinstance(there, str) else ""


def _of_version(fit: Mapping[str, Any]) -> str:
    """Which version stored it, where that is another than this."""
    there = fit[Entry.PARAMS].get(Param.VERSION) if isinstance(fit.get(Entry.PARAMS), Mapping) else None
    own = version("skeltraj")
    return "" if there is None or there == own else f", or it is of another version (skeltraj {there}; this is {own})"
