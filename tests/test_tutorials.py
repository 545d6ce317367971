"""The script that runs the tutorials: what it takes for the same, and that all tutorials have something stored."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "docs" / "tutorials" / "run.py"
if not SCRIPT.exists():
    pytest.skip("the documentation is not here", allow_module_level=True)
spec = importlib.util.spec_from_file_location("run_tutorials", SCRIPT)
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)


@pytest.mark.parametrize(
    ("stored", "now"),
    [
        ("", ""),
        ("agreement 0.82", "agreement 0.81"),
        ("B1  1,371   0.526   88 %", "B1 1,402 0.53 87 %"),
        ("p 2.0e-183", "p 4e-170"),
        ("a\n====\n12 cells", "a\n=====\n12 cells"),
        ("nan  -0.0", "nan 0.0"),
    ],
)
def test_what_is_the_same(stored, now):
    assert run.same_text(stored, now) is None


@pytest.mark.parametrize(
    ("stored", "now", "told"),
    [
        ("agreement 0.82", "agreement 0.62", "'0.82' was stored, '0.62' is printed"),
        ("3 tips", "4 tips", "'3' was stored, '4' is printed"),
        ("luminal A", "luminal B", "'A' was stored, 'B' is printed"),
        ("1 2", "1 2 3", "'3' is in the one alone, 2 words were stored, 3 are printed"),
        ("0.5", "nan", "'0.5' was stored, 'nan' is printed"),
        ("-1.5", "1.5", "'-1.5' was stored, '1.5' is printed"),
    ],
)
def test_what_differs(stored, now, told):
    assert run.same_text(stored, now) == told


def outputs(path):
    """What is stored of each cell: text and number of pictures."""
    if path.suffix == ".md":
        return run.read_record(run.STORED / f"{path.stem}.txt")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    data = [[o.get("data", {}) for o in cell["outputs"]] for cell in cells if cell["cell_type"] == "code"]
    return [("", sum("image/png" in one for one in of_cell)) for of_cell in data]


@pytest.mark.parametrize("name", run.tutorials())
def test_each_tutorial_has_outputs_and_is_listed(name):
    path = run.tutorials()[name]
    assert sum(n_pictures for _, n_pictures in outputs(path)) > 0
    assert f"\n{name}\n" in (SCRIPT.parent / "index.md").read_text(encoding="utf-8")
    assert path.stat().st_size < 800_000
