"""Every public call, with whatever may be given: it works, or says what is wrong."""

from __future__ import annotations

import pytest

from estimator_calls import DATASETS
from skeltraj import datasets


@pytest.mark.parametrize("name", DATASETS)
def test_any_arguments_are_answered(name):
    DATASETS[name].property()()


def test_every_public_name_is_called():
    assert set(DATASETS) == set(datasets.__all__)
