"""What is there, in words."""

from __future__ import annotations

from skeltraj.get._reading.checks import available


def test_names_are_sorted_and_of_many_the_first_are_named():
    assert available(["b", None, "a", 1]) == ["1", "a", "b"]
    names = [f"{i:04d}" for i in range(1234)]
    assert available(names[:100]) == names[:100]
    assert available(reversed(names)) == [*names[:100], "and 1134 more"]
