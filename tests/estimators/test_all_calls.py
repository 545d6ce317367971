"""Every public call, with whatever may be given: it works, or says what is wrong."""

from __future__ import annotations

import pytest

from estimator_calls import ESTIMATORS
from skeltraj import estimators


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fine_arguments_work(name):
    call = ESTIMATORS[name]
    arguments = call.fine()
    call.law(call.call(**arguments), arguments)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_any_arguments_are_answered(name):
    ESTIMATORS[name].property()()


def test_every_public_name_is_called():
    assert set(ESTIMATORS) == set(estimators.__all__)
