"""The command line with any arguments: it works, or ends with one line and writes nothing."""

from __future__ import annotations

import contextlib
import io
import tempfile
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotated import NAMES, WORDS, studied_cells
from skeltraj._cli.main import main
from strategies import share_of_examples

SAID = (
    "1 0 -1 1.5 nan inf 1e400 yes no all soft stage=stem stage= = place=max gene0=min =max T9 -- / /dev/null in.h5ad ~"
)
VALUES = st.sampled_from([*NAMES[:5], *NAMES[8:], *WORDS, *SAID.split(), "9" * 400])
OPTIONS = {
    "fit": "--use-rep --layer --n-components --preset --n-nodes --denoise --prune --n-starts --assignment --lam --sigma"
    " --gamma --eta --n-neighbors --tol --seed --key-added --method",
    "order": "--root --key",
    "ingest": "--key --use-rep --quantile",
    "report": "--key --groupby --genes --title",
}
QUICK = {"fit": ["--max-iter", "3"], "order": ["--root", "T1"], "ingest": ["in.h5ad"], "report": []}


@pytest.fixture(scope="module")
def folder():
    adata = studied_cells()
    for name in ("stability", "survival", "composition", "association", "condition_test", "branch_test", "trends"):
        del adata.uns["ddrtree"][name]
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adata.write_h5ad("in.h5ad")
        yield Path(name)


@pytest.mark.parametrize("command", OPTIONS)
@share_of_examples(0.1, least=4)
@given(data=st.data())
def test_any_arguments(folder, command, data):
    out = f"out.{'html' if command == 'report' else 'h5ad'}"
    given = [command, "in.h5ad", *QUICK[command], "-o", out]
    for option in data.draw(st.lists(st.sampled_from(OPTIONS[command].split()), max_size=2, unique=True)):
        given += [option, data.draw(VALUES)]
    if data.draw(st.integers(0, 4)) == 4:
        given[data.draw(st.integers(1, len(given) - 1))] = data.draw(VALUES)
    told = io.StringIO()
    with contextlib.redirect_stderr(told), contextlib.redirect_stdout(io.StringIO()):
        try:
            status = main(given)
        except SystemExit as stopped:  # of argparse, with the usage
            status = stopped.code
    errors = [line for line in told.getvalue().splitlines() if not line.startswith("warning: ")]
    written = [path for path in folder.iterdir() if path.name not in ("in.h5ad",)]
    if status == 0:
        assert not errors
    else:
        assert status in (1, 2)
        assert "Traceback" not in told.getvalue()
        assert status == 2 or (len(errors) == 1 and errors[0].startswith("skeltraj: ")), errors
        assert not written
    for path in written:
        path.unlink()
