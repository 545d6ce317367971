"""Every public call, with whatever may be given: it works, or says in its own words what is wrong."""

from __future__ import annotations

import pytest

from core_calls import CALLS, GIVEN_BY
from skeltraj import core


@pytest.mark.parametrize("name", CALLS)
def test_a_call_with_fine_arguments_works(name):
    call = CALLS[name]
    arguments = call.fine()
    call.law(call.call(**arguments), arguments)


@pytest.mark.parametrize("name", CALLS)
def test_any_arguments_are_answered(name):
    CALLS[name].property()()


def test_every_public_name_is_called():
    called = {name.split(".")[0].split()[0] for name in CALLS}
    assert called | set(GIVEN_BY) == set(core.__all__)
    assert set(GIVEN_BY.values()) <= set(CALLS)
