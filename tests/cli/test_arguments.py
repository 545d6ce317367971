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
    adata.obs_names = [str(i) for i in range(12)]
    assert root_of("7", adata) == "7"  # a cell of that name
    adata.obs_names = [f"plate=1_{i}" for i in range(12)]
    assert root_of("plate=1_3", adata) == "plate=1_3"
