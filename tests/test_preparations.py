"""The tables of benchmarks/preparations.py: means, tips in excess, the best peer beside ours."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
if not FOLDER.is_dir():
    pytest.skip("benchmarks/ is not part of the source distribution", allow_module_level=True)


@pytest.fixture
def script(monkeypatch):
    """The script; nothing of it stays behind."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(FOLDER)
    import preparations

    yield preparations
    for name in set(sys.modules) - before:
        if name.split(".")[0] in {"preparations", "defaults", "simulators"}:
            del sys.modules[name]


@pytest.fixture
def rows():
    """Two sets in two preparations; the best peer differs between the preparations."""
    overall = {
        "oracle": (0.9, 0.8),
        "skeltraj": (0.7, 0.6),
        "paga_tree": (0.5, 0.65),
        "scfates_ppt": (0.6, 0.4),
    }
    table = [
        dict(
            seed=1,
            set=name,
            preparation=preparation,
            method=method,
            overall=values[i] + shift,
            n_leaves=np.nan if method == "scfates_ppt" and i else 5.0,
            true_leaves=3 if name == "walks" else 4,
            agreement=0.8 if method == "skeltraj" else np.nan,
        )
        for method, values in overall.items()
        for name, shift in (("walks", 0.0), ("paths 60 genes", 0.1))
        for i, preparation in enumerate(("log1p", "cpm"))
    ]
    return pd.DataFrame(table)


def test_best_peer(script, rows):
    best = script.beside_best(rows, "preparation")
    assert best["best peer"].tolist() == ["scfates_ppt", "paga_tree"]
    np.testing.assert_allclose(best["its mean"], [0.65, 0.7])
    np.testing.assert_allclose(best["skeltraj: ahead"], [0.1, -0.05])
    assert "principal_tree" not in best


def test_best_peer_where_there_is_none(script, rows):
    ours = script.beside_best(rows[rows["method"] == "skeltraj"], "preparation")
    np.testing.assert_allclose(ours["skeltraj"], [0.75, 0.65])


def test_report_has_each_method_and_part(script, rows):
    text = script.report(rows)
    lines = text.splitlines()
    assert lines[0] == "4 of 4 cases, those with all methods: 2 sets, 1 seeds, 2 preparations"
    first = {line.split()[0]: line.split()[1:] for line in lines[4:8]}
    # overall, tips in excess, share with another number of tips, agreement
    assert first["skeltraj"] == ["0.700", "1.5", "1.0", "0.8"]
    assert list(first) == ["oracle", "skeltraj", "paga_tree", "scfates_ppt"]
    assert "excess by preparation" in text
    assert "overall by set" in text


def test_only_cases_that_all_have_are_compared(script, rows):
    fewer = rows[(rows["method"] != "skeltraj") | (rows["preparation"] == "cpm")]
    text = script.report(fewer)
    assert text.startswith("2 of 4 cases")
    assert "log1p" not in text
    none = rows[(rows["method"] == "skeltraj") == (rows["preparation"] == "cpm")]
    assert script.report(none) == "none of 4 cases has all methods: name some of them"


def test_names_of_the_peers_are_not_ours(script):
    assert set(script.OURS) == {"skeltraj", "principal_tree"}
    assert set(script.OURS) < set(script.NO_PEERS)


def test_representations(script):
    """One row for each cell, of finite numbers, from sets with few genes, too."""
    from simulators.walks import walks

    cells = walks(1, n_cells=120, n_genes=40, seed=0)
    cells.var["highly_variable"] = np.arange(40) % 4 > 0
    before = cells.layers["counts"].copy()
    made = {name: make(cells) for name, make in script.REPRESENTATIONS.items()}
    assert len(made) == 17
    for name, points in made.items():
        assert points.shape[0] == 120, name
        assert points.shape[1] > 2, name
        assert np.isfinite(points).all(), name
        assert (points.std(axis=0) > 0).all(), name
    np.testing.assert_allclose(made["whitened_30"].std(axis=0), 1)
    assert made["log1p_5"].shape[1] == 5
    assert (cells.layers["counts"] != before).sum() == 0
