"""What several commands read from their arguments."""

from __future__ import annotations

import argparse

import pytest

from samples import cells
from skeltraj._cli.arguments import number, root_of, value


def test_numbers():
    assert [number(text) for text in ("3", "-2", "0.9", "1e-5")] == [3, -2, 0.9, 1e-5]
    assert isinstance(number("3"), int)
    with pytest.raises(argparse.ArgumentTypeError, match="'three' is not a number"):
        number("three")


def test_values():
    assert [value(text) for text in ("yes", "No", "TRUE", "auto", "4", "0.5")] == [True, False, True, "auto", 4, 0.5]
    assert value("1") is not True


def test_roots():
    adata = cells(12)
    assert root_of("stage=stem", adata) == {"stage": "stem"}
    assert root_of("gene1=max", adata) == {"gene1": "max"}
    assert root_of("7", adata) == 7
    assert root_of("-7", adata) == -7
    assert [root_of(text, adata) for text in ("T2", "--3", "\u00b2", "1_0")] == ["T2", "--3", "\u00b2", "1_0"]
    assert root_of("node:7", adata) == 7
    assert root_of("x=y", adata) == {"x": "y"}  # of which the order says that there is no such column
    adata.obs_names = [f"plate=1_{i}" for i in range(12)]
    assert root_of("plate=1_3", adata) == "plate=1_3"
    assert root_of("cell:plate=1_3", adata) == "plate=1_3"


def test_a_root_that_may_be_a_cell_or_a_node():
    adata = cells(12)
    adata.obs_names = [str(i) for i in range(12)]  # as cells are called that were given no names
    with pytest.raises(ValueError, match=r"--root 7 is the name of a cell and may be .* wanted cell:7 or node:7\."):
        root_of("7", adata)
    assert root_of("cell:7", adata) == "7"
    assert root_of("node:7", adata) == 7
    assert root_of("12", adata) == 12
    with pytest.raises(KeyError, match="--root cell:12: no cell is called '12'"):
        root_of("cell:12", adata)
    with pytest.raises(ValueError, match="--root node:T1: 'T1' is not the number of a node"):
        root_of("node:T1", adata)


def test_roots_by_columns_with_equals_signs():
    adata = cells(12)
    adata.obs["a=b"] = adata.obs["stage"]
    assert root_of("a=b=stem", adata) == {"a=b": "stem"}
    assert root_of("stage=x=y", adata) == {"stage": "x=y"}
    adata.obs["a"] = "b=stem"
    with pytest.raises(ValueError, match=r"--root a=b=stem: 'a' and 'a=b' are columns of obs or genes"):
        root_of("a=b=stem", adata)
