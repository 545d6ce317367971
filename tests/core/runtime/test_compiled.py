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
from source_calls import Source

# What checks arrays, and which other check it calls to that end (None: none, it raises itself).
OWN = {f"core._runtime.check.{name}" for name in ("matrix", "coordinates", "finite", "numbers", "column", "entries")}
CHECKS = {
    "core._branches.prune.in_one_order": "core._runtime.check.matrix",
    "core._curves.association.Frame.of": "core._runtime.check.coordinates",
    "core._graph.graph.Graph": "core._runtime.check.numbers",
    "core._groups.composition._usable_cells": None,
    "core._graph.position.locate": "core._runtime.check.coordinates",
    "core._learning.denoise.Denoised": "core._runtime.check.coordinates",
    "core._learning.denoise.denoise": "core._runtime.check.matrix",
    "core._methods.ddrtree._Asked": "core._runtime.check.matrix",
    "core._nodes.nodes_in_data.begin": "core._runtime.check.matrix",
    "core._similarity.fit.n_components_of": "core._runtime.check.matrix",
    "core._similarity.pair_distances.PairDistances": "core._runtime.check.matrix",
}

# Files with kernels, the plain functions that call these, and the checks on the ways there.
KERNELS = {
    "core._curves.dispersion_kernels": {
        "estimate_dispersions": {"Frame.of", "check.numbers"},
    },
    "core._curves.factor": {},
    "core._curves.kernels": {
        "Model.fit": {"Frame.of", "check.numbers"},
        "_curves": {"Frame.of"},
        "_describe": {"Frame.of"},
        "contrast": {"Frame.of"},
    },
    "core._curves.leverage": {},
    "core._curves.likely_dispersion": {
        "likely_dispersions": {"Frame.of", "check.numbers"},
    },
    "core._curves.quadratic_form": {
        "p_values_of": {"Frame.of", "check.numbers"},
        "tail_of_share": {"Frame.of", "check.numbers"},
    },
    "core._curves.responses": {
        "Responses._block": {"check.coordinates", "check.finite"},
    },
    "core._curves.score_kernels": {
        "test_of": {"Frame.of", "check.numbers"},
    },
    "core._curves.unit_kernels": {
        "donor_scores": {"Frame.of", "check.numbers"},
        "level_differences": {"Frame.of"},
    },
    "core._data.blocks": {
        "DenseBlock.gather": {"Denoised", "_Asked", "check.matrix", "locate"},
        "SparseBlock.gather": {"Denoised", "_Asked", "check.matrix", "locate"},
        "rows_of": {"Denoised", "_Asked", "check.matrix", "locate"},
    },
    "core._data.canonical_order": {
        "KeptInMemory.embedding_as_given": {"_Asked"},
        "canonical_kernel_order": {"_Asked", "check.matrix"},
        "canonical_order": {"Denoised", "_Asked", "check.matrix", "locate"},
    },
    "core._data.rows": {
        "Rows.placed": {"Denoised", "_Asked", "check.matrix", "locate"},
    },
    "core._ddrtree_round.node_system": {
        "add_overlap": {"_Asked"},
        "overlap_times": {"_Asked"},
    },
    "core._geometry.assign": {
        "assign": {
            "Denoised",
            "EmbeddedSkeleton.scores_of",
            "_Asked",
            "check.coordinates",
            "check.finite",
            "check.matrix",
            "locate",
            "start",
        },
    },
    "core._geometry.kdtree": {
        "build": {
            "Denoised",
            "EmbeddedSkeleton.scores_of",
            "_Asked",
            "begin",
            "check.coordinates",
            "check.finite",
            "check.matrix",
            "check.numbers",
            "locate",
            "start",
        },
    },
    "core._geometry.neighbors": {
        "k_nearest": {"Denoised", "Denoised.scores", "_Asked", "check.matrix", "locate"},
        "k_smallest": {"PairDistances", "n_components_of"},
    },
    "core._geometry.spanning_tree": {
        "spanning_tree": {"_Asked", "begin", "check.matrix", "check.numbers"},
    },
    "core._graph.position": {
        "on_edges": {"Graph", "check.coordinates", "check.matrix", "in_one_order", "locate"},
    },
    "core._groups.differences": {
        "GroupDifferences._sums": {"_usable_cells"},
    },
    "core._groups.relabel": {
        "relabelings": {"_means_over", "_usable_cells", "_values"},
        "sums_of_drawn": {"_usable_cells"},
    },
    "core._learning.denoise": {
        "Denoised._of_scores": {"Denoised", "Denoised.scores", "check.matrix"},
        "_axes": {"Denoised", "check.matrix"},
        "_weighted_neighbors": {"Denoised", "Denoised.scores", "check.matrix"},
    },
    "core._solvers.cholesky": {
        "factor": {"PairDistances", "n_components_of"},
        "find": {"PairDistances", "n_components_of"},
        "inverse_entries": {"PairDistances", "n_components_of"},
        "pattern": {"PairDistances", "n_components_of"},
        "solve": {"PairDistances", "n_components_of"},
    },
    "core._solvers.tree_system": {
        "TreeSystem.__init__": {"_Asked", "begin", "check.matrix"},
        "TreeSystem.solve": {"_Asked", "begin", "check.matrix"},
    },
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
    """Checks that a function calls; of what users have also those in what it calls."""
    used = source().uses[name]
    known = OWN | set(CHECKS)
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
    """A name without its module; of a check with it."""
    parts = name.split(".")
    return ".".join(parts[-2:] if parts[-2] == "check" or parts[-2][0].isupper() else parts[-1:])


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


def test_the_table_names_every_kernel_caller_and_check():
    assert found()[0] == KERNELS
