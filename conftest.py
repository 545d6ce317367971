"""How the examples in docstrings are run: ``python -m pytest --doctest-modules src/skeltraj``."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")

# what would otherwise be taken for tests, or asks for what is not installed to build the documentation
collect_ignore_glob = ["benchmarks/*", "docs/*", "tutorials/*"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let examples warn, as a reader's session would."""
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.add_marker(pytest.mark.filterwarnings("default"))
