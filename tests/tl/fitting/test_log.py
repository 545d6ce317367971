"""What was learned is logged, as scanpy's verbosity says, or by Python's logging."""

from __future__ import annotations

import logging
import sys

import numpy as np
import pytest
import scanpy as sc

import skeltraj as st
from samples import cells
from skeltraj.core._branches import starts
from skeltraj.tl._fitting.log import info


@pytest.fixture
def verbosity():
    """Sets scanpy's verbosity, and puts it back."""
    before, stream = sc.settings.verbosity, sc.settings.logfile

    def put(level):
        sc.settings.verbosity = level
        sc.settings.logfile = sys.stderr  # that of this test

    yield put
    sc.settings.verbosity, sc.settings.logfile = before, stream


@pytest.mark.parametrize(("level", "is_said"), [(0, False), (1, False), (2, True), (3, True)])
def test_scanpys_verbosity_rules(level, is_said, verbosity, capsys):
    verbosity(level)
    adata = cells(90)
    st.tl.ddrtree(adata, n_starts=1)
    assert ("ddrtree: " in capsys.readouterr().err) == is_said


def test_the_line_of_a_fit(verbosity, capsys):
    verbosity(2)
    adata = cells(200, seed=2)
    st.tl.ddrtree(adata, n_starts=3)
    graph, fit = st.get.graph(adata), adata.uns["ddrtree"]
    first = capsys.readouterr().err.splitlines()[0]
    assert first == (
        f"ddrtree: {len(graph.tips)} tips, {len(graph.forks)} fork, {len(graph.branches)} branches "
        f"({graph.n_nodes} nodes, {fit['n_iter']} rounds); agreement {fit['agreement'].max():.2f} (3 starts)"
    )
    st.tl.spl(adata)
    assert "spl: " in capsys.readouterr().err


def test_without_scanpy_it_is_pythons_logging(monkeypatch, caplog):
    monkeypatch.delitem(sys.modules, "scanpy")
    with caplog.at_level(logging.INFO, logger="skeltraj"):
        info("three tips")
    assert [record.getMessage() for record in caplog.records] == ["three tips"]


def test_starts_that_differ_warn_before_anything_is_stored(monkeypatch):
    adata = cells(200, seed=2)
    differing = lambda nested, others, n_tips: np.array([0.3, 0.4, 0.2])
    lost = lambda divisions, chosen: starts.StartSupport(np.full(3, 0.2), np.zeros(3))
    monkeypatch.setattr("skeltraj.core._learning.parts.alike_with", differing)
    monkeypatch.setattr("skeltraj.core._learning.parts.start_support", lost)
    with pytest.raises(
        UserWarning, match="the trees from other starts and from parts of the cells differ: agreement 0.40"
    ):
        st.tl.ddrtree(adata, n_starts=3)  # warnings are errors here
    assert "ddrtree" not in adata.uns
    with pytest.warns(UserWarning, match="Most of them lack B1, B2 and B3") as said:
        st.tl.ddrtree(adata, n_starts=3)
    assert said[0].filename == __file__
    np.testing.assert_array_equal(adata.uns["ddrtree"]["starts"]["found_again"], np.zeros(3))
    assert "in doubt" in repr(st.get.summary(adata))
