"""Every compiled kernel, who calls it, and the checks that its arrays have passed by then.

Read from the source (see `source_calls`): from the plain functions that call a kernel up, user by user, until each way
has passed a function that calls one of the checks. That it checks the very array which the kernel gets is not told.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import skeltraj
from skeltraj import core
from skeltraj.core._curves import kernels as kernels_of_curves
from source_calls import Source

# What checks arrays, and which other check it calls to that end (None: none, it raises itself).
OWN = {
    *(f"core._runtime.check.matrices.{name}" for name in ("matrix", "dense", "entries")),
    *(f"core._runtime.check.arrays.{name}" for name in ("coordinates", "finite", "numbers", "column")),
}
CHECKS = {
    "core._branches.prune.in_one_order": "core._runtime.check.matrices.dense",
    "core._curves.frame.Frame.of": "core._runtime.check.arrays.coordinates",
    "core._graph.graph.Graph": "core._runtime.check.arrays.numbers",
    "core._groups.composition._usable_cells": None,
    "core._graph.position.locate": "core._runtime.check.arrays.coordinates",
    "core._learning.denoised.Denoised": "core._runtime.check.arrays.coordinates",
    "core._learning.denoise.denoise": "core._runtime.check.matrices.matrix",
    "core._methods.ddrtree._CheckedInput": "core._runtime.check.matrices.matrix",
    "core._nodes.nodes_in_data.begin": "core._runtime.check.matrices.matrix",
    "core._similarity.fit.n_components_of": "core._runtime.check.matrices.matrix",
    "core._similarity.pair_distances.PairDistances": "core._runtime.check.matrices.matrix",
    "core._survival.survival._covariates": "core._runtime.check.arrays.coordinates",
}

# Files with kernels, the plain functions that call these, and a check on the ways there; other ways may pass others.
KERNELS = {
    "core._branches.held_out": {"_place": "in_one_order", "shrunk": "in_one_order"},
    "core._curves.dispersion_kernels": {"estimate_dispersions": "Frame.of"},
    "core._curves.factor": {},  # called by kernels alone
    "core._curves.kernels": {
        "Model.fit": "Frame.of",
        "_curves": "Frame.of",
        "_describe": "Frame.of",
        "contrast": "Frame.of",
    },
    "core._curves.leverage": {},  # called by kernels alone
    "core._curves.likely_dispersion": {"likely_dispersions": "Frame.of"},
    "core._curves.quadratic_form": {
        "_point_p_values": "Frame.of",
        "_of_unequal_noise": "Frame.of",
        "p_values_of": "Frame.of",
        "tail_of_share": "Frame.of",
    },
    "core._curves.responses": {"Responses._block": "check.coordinates"},
    "core._curves.score_kernels": {"test_of": "Frame.of"},
    "core._curves.unit_fit": {},  # called by kernels alone
    "core._curves.unit_kernels": {"donor_scores": "Frame.of", "level_differences": "Frame.of"},
    "core._data.blocks": {
        "DenseBlock.gather": "check.matrix",
        "SparseBlock.gather": "check.matrix",
        "column_sums": "check.matrix",
        "rows_of": "check.matrix",
    },
    "core._data.canonical_order": {
        "KeptInMemory.embedding_as_given": "_CheckedInput",
        "canonical_kernel_order": "check.matrix",
        "row_keys": "check.matrix",
    },
    "core._data.rows": {"Rows.placed": "check.matrix"},
    "core._data.sample": {"_draw_again": "check.matrix", "_draws_of": "check.matrix"},
    "core._ddrtree_round.at_rest": {"at_rest": "check.coordinates"},
    "core._ddrtree_round.node_system": {
        "add_overlap": "_CheckedInput",
        "factorised": "_CheckedInput",
        "overlap_times": "_CheckedInput",
    },
    "core._data.space": {"Moment.plus": "check.matrix"},
    "core._ddrtree_round.preconditioner": {"_overlap": "_CheckedInput"},
    "core._ddrtree_round.sweep": {"Sweep.visit": "_CheckedInput"},
    "core._geometry.assign": {
        "assign": "check.matrix",
        "at_rest": "check.coordinates",
        "nearest_nodes": "check.matrix",
        "places_of": "check.coordinates",
    },
    "core._geometry.exponential": {},  # called by kernels alone
    "core._geometry.kdtree": {"build": "check.matrix"},
    "core._geometry.near_nodes": {"_lists": "check.matrix"},
    "core._geometry.neighbors": {"k_nearest": "check.matrix", "k_smallest": "PairDistances"},
    "core._geometry.select": {},  # called by kernels alone
    "core._geometry.spanning_tree": {"spanning_tree": "check.matrix"},
    "core._graph.position": {"_nearest_of_groups": "locate"},
    "core._graph.walks": {"Graph._walks": "Graph"},
    "core._groups.differences": {"GroupDifferences._sums": "_usable_cells"},
    "core._groups.relabel": {"relabelings": "_usable_cells", "sums_of_drawn": "_usable_cells"},
    "core._learning.denoised": {"Denoised.of_scores": "Denoised", "denoise": "check.matrix"},
    "core._learning.neighbor_weights": {"weighted_neighbors": "Denoised"},
    "core._learning.tangents": {"tangents": "Denoised"},
    "core._nodes.distance_bounds": {"DistanceBounds.nearest": "check.matrix"},
    "core._nodes.kmeans": {"seed_nodes": "check.matrix"},
    "core._similarity.curvature": {"PairCurvature.__init__": "n_components_of"},
    "core._similarity.pair_distances": {"PairDistances.products_about": "PairDistances"},
    "core._solvers.leading_axes": {"leading_axes": "Denoised"},
    "core._solvers.cholesky": {
        "columns_of_inverse": "PairDistances",
        "factor": "PairDistances",
        "inverse_entries": "PairDistances",
        "solve": "PairDistances",
    },
    "core._solvers.factor_pattern": {
        "find": "PairDistances",
        "pattern": "PairDistances",
    },
    "core._solvers.tree_hats": {"hats": "_CheckedInput"},
    "core._solvers.tree_system": {"TreeSystem.__init__": "check.matrix", "TreeSystem.solve": "check.matrix"},
    "core._survival.cox": {"concordance": "_covariates"},
}


@cache
def source():
    return Source(Path(skeltraj.__file__).parent)


@cache
def kernels():
    functions = source().functions.items()
    return {name for name, node in functions if "compiled" in map(ast.unparse, node.decorator_list)}


def is_offered(name):
    """Whether users have a function: core hands it on, or the class whose method it is."""
    above, _, last = name.rpartition(".")
    of_whom = above.rpartition(".")[2] if above in source().classes else last
    return not last.startswith("_") and of_whom in core.__all__


def checks_of(name):
    """Checks that a function calls, or that its object passed; of what users have also those in what it calls."""
    used, whose = source().uses[name], name.rpartition(".")[0]
    known = OWN | set(CHECKS)
    if whose in CHECKS:
        return {whose}
    return used & known or {other for other in used if is_offered(name) and source().uses.get(other, set()) & known}


def above(caller):
    """Checks on the ways to a caller, and functions to which a way leads without any."""
    seen, left, passed, open_ways = {caller}, [caller], set(), set()
    while left:
        name = left.pop()
        checks = checks_of(name)
        passed |= checks
        if checks:
            continue
        users = source().users(name)
        if not users or is_offered(name):
            open_ways.add(name)
        left += users - seen
        seen |= users
    return passed, open_ways


def short(name):
    """A name without its module; a check as its users write it."""
    parts = name.split(".")
    if "check" in parts:
        return f"check.{parts[-1]}"
    return ".".join(parts[-2:] if parts[-2][0].isupper() else parts[-1:])


@cache
def found():
    table, open_ways = defaultdict(dict), set()
    for kernel in kernels():
        file = kernel.rpartition(".")[0]
        table[file] = table[file]  # also where kernels call it and nothing else does
        for caller in source().users(kernel) - kernels():
            passed, without = above(caller)
            table[file][short(caller)] = {short(name) for name in passed}
            open_ways |= {(caller, way) for way in without}
    return dict(table), open_ways


def test_nothing_is_compiled_in_another_way():
    used = {
        module
        for module, tree in source().modules.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom) and "numba" in ast.unparse(node)
    }
    assert used == {"core._runtime.compile"}


def test_the_checks_check():
    for name, check in CHECKS.items():
        uses = source().uses
        made = [f"{name}.{method}" for method in ("__init__", "__post_init__")]
        if check is None:
            assert any(isinstance(node, ast.Raise) for node in ast.walk(source().functions[name])), name
        else:
            assert check in set().union(*(uses.get(function, set()) for function in (name, *made))), name


def test_every_way_to_a_kernel_passes_a_check():
    assert found()[1] == set()


def test_the_table_names_every_kernel_and_caller():
    assert {file: set(callers) for file, callers in found()[0].items()} == {
        file: set(callers) for file, callers in KERNELS.items()
    }


def test_the_check_of_each_caller_is_on_its_ways():
    for file, callers in KERNELS.items():
        for caller, check in callers.items():
            assert check in found()[0][file][caller], (file, caller)


def test_no_kernel_calls_another_with_a_number_of_the_source():
    """numba compiles the other anew for each such number, as 0; ``np.int64(0)`` spares that."""
    names, functions = {name.rpartition(".")[2] for name in kernels()}, source().functions
    numbers = {name for name in vars(kernels_of_curves) if isinstance(getattr(kernels_of_curves, name), int)}
    calls = [call for name in kernels() for call in ast.walk(functions[name]) if isinstance(call, ast.Call)]
    calls = [call for call in calls if getattr(call.func, "id", None) in names]
    assert len(calls) > 60
    wrong = [
        ast.unparse(call)
        for call in calls
        for given in call.args
        if (isinstance(given, ast.Constant) and isinstance(given.value, int))
        or (isinstance(given, ast.Name) and given.id in numbers)
    ]
    assert wrong == []


def test_no_kernel_assigns_an_array_to_a_slice():
    """numba compiles seconds of code for the message that an error of shapes would have; loops spare that."""
    functions = source().functions
    nodes = [node for name in kernels() for node in ast.walk(functions[name])]
    sliced = [
        (ast.unparse(target), value)
        for node in nodes
        if isinstance(node, ast.Assign | ast.AugAssign)
        for given in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for target, value in pairs(given, node.value)
        if isinstance(target, ast.Subscript) and any(isinstance(part, ast.Slice) for part in ast.walk(target.slice))
    ]
    assert len(sliced) > 10
    fills = (ast.Constant, ast.Attribute)  # as 0.0 and np.inf
    assert [target for target, value in sliced if not isinstance(value, fills)] == []


def pairs(target, value):
    """Each target of an assignment and what it is given; the whole value where that is not written as a tuple."""
    if not isinstance(target, ast.Tuple):
        return [(target, value)]
    values = value.elts if isinstance(value, ast.Tuple) else [value] * len(target.elts)
    return list(zip(target.elts, values, strict=True))
