"""The scripts of the documentation's gallery run, draw something, and warn of nothing."""

from __future__ import annotations

import runpy
import tempfile
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"
SCRIPTS = sorted(path for path in GALLERY.glob("*/*.py") if path.parent.name != "generated")


def test_there_are_scripts():
    assert len(SCRIPTS) >= 12


@pytest.mark.compiled("whole fits, of which other tests run each part")
@pytest.mark.filterwarnings("ignore:Observation names are not unique:UserWarning")
@pytest.mark.filterwarnings("ignore::UserWarning:umap")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_draws(script, monkeypatch, tmp_path):
    if script.stem in ("graph_3d", "report"):
        pytest.importorskip("plotly")
        pytest.importorskip("jinja2")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = runpy.run_path(str(script))
    assert left["__doc__"].strip().splitlines()[1].startswith("===")
    figures = [plt.figure(number) for number in plt.get_fignums()]
    assert figures
    for figure in figures:
        figure.canvas.draw()
        assert any(axes.has_data() for axes in figure.axes)
    if "page" in left:
        assert left["page"].stat().st_size > 10_000
