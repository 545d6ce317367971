"""Tables on a page."""

from __future__ import annotations

import io
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest

from skeltraj.pl._page import tables
from skeltraj.pl._page.tables import number, table


def downloaded(made):
    """The table that a reader gets."""
    kind, _, text = made.download.partition(",")
    assert kind == "data:text/csv;charset=utf-8"
    assert not set(made.download) & set('"<>\n#%') - {"%"}
    return pd.read_csv(io.StringIO(unquote(text)), keep_default_na=True)


def test_cells_of_every_kind():
    frame = pd.DataFrame(
        {
            "name": ["a", None],
            "count": [1200, 3],
            "value": [2.5, np.nan],
            "p_value": [3e-12, 0.04],
            "sure": [True, False],
            "group": pd.Categorical(["x", np.nan]),
        }
    )
    made = table(frame, "All.", "every kind/of")
    assert [name for name, _ in made.columns] == ["name", "count", "value", "p value", "sure", "group"]
    assert [numeric for _, numeric in made.columns] == [False, True, True, True, False, False]
    assert [cell.text for cell in made.rows[0]] == ["a", "1,200", "2.50", "3.0e-12", "yes", "x"]
    assert [cell.text for cell in made.rows[1]] == ["", "3", "", "0.040", "no", ""]
    assert [cell.number for cell in made.rows[0]] == [None, "1200", "2.5", "3e-12", None, None]
    assert [cell.number for cell in made.rows[1]] == [None, "3", "", "0.04", None, None]
    assert made.file == "every_kind_of.csv"


def test_a_long_table_is_cut_and_can_be_downloaded_whole():
    frame = pd.DataFrame({"x": np.arange(500), "y": np.linspace(0, 1, 500), "hidden": "h"})
    made = table(frame, "Long.", "long", columns=("y", "x", "absent"), n_rows=20)
    assert len(made.rows) == 20
    assert (made.n_rows, made.n_download) == (500, 500)
    assert [name for name, _ in made.columns] == ["y", "x"]
    back = downloaded(made)
    assert list(back.columns) == ["x", "y", "hidden"]
    np.testing.assert_allclose(back["y"], frame["y"], rtol=1e-5)


def test_a_download_that_would_be_too_long_holds_the_first_rows(monkeypatch):
    monkeypatch.setattr(tables, "MAX_DOWNLOAD", 2000)
    made = table(pd.DataFrame({"x": np.arange(5000)}), "Long.", "long")
    assert len(made.download) <= 2000
    assert 100 < made.n_download < 5000
    assert list(downloaded(made)["x"]) == list(range(made.n_download))


def test_names_come_back_from_the_download():
    names = ['a,b "c"', "line\nbreak", "<script>", "شجرة 🌳", "50 % #1 & more"]
    assert list(downloaded(table(pd.DataFrame({"name": names}), "Names.", "names"))["name"]) == names


def test_a_named_index_is_a_column():
    frame = pd.DataFrame({"length": [1.0]}, index=pd.Index(["B1"], name="branch"))
    assert [cell.text for cell in table(frame, "Branches.", "b").rows[0]] == ["B1", "1.000"]
    assert len(table(frame.rename_axis(None), "Branches.", "b").rows[0]) == 1


def test_a_table_without_rows():
    made = table(pd.DataFrame({"x": pd.Series(dtype=float)}), "None.", "none")
    assert (made.rows, made.n_rows) == ([], 0)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.0, 3, "0.000"),
        (1234.5, 0, "1,234"),
        (-0.25, 2, "-0.25"),
        (2e-7, 3, "2.0e-7"),
        (-4e-5, 3, "-4.0e-5"),
        (1e-305, 3, "<1e-300"),
        (np.inf, 3, "∞"),
        (-np.inf, 3, "−∞"),
        (np.nan, 3, ""),
    ],
)
def test_numbers(value, digits, text):
    assert number(value, digits) == text
