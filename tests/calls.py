"""A public call, and its property: with whatever may be given it works, or says in its own words what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from strategies import ERRORS, Answer, answered, share_of_examples

# Arguments that are changed more often than others.
_DATA = {"X", "Y", "counts", "both", "graph", "points", "position", "values", "groups", "time"}

Law = Callable[[Any, dict[str, Any]], None]


@dataclass(frozen=True)
class Call:
    """A public call.

    Parameters
    ----------
    call
        Takes the arguments by their names.
    fine
        Makes arguments with which it works.
    odd
        What may stand in the place of an argument. Those not named stay as they are.
    law
        What must hold of a result, by the arguments; fails if it does not.
    words
        Names that an error may have beside those of the arguments.
    share
        Of a profile's examples.
    errors, elsewhere
        What may be raised, and by files of which other packages; see `answered`.
    """

    call: Callable[..., Any]
    fine: Callable[[], dict[str, Any]]
    odd: dict[str, st.SearchStrategy]
    law: Law = lambda result, arguments: None
    words: tuple[str, ...] = ()
    share: float = 1.0
    errors: tuple[type[Exception], ...] = ERRORS
    elsewhere: tuple[str, ...] = ()

    def answer(self, arguments: dict[str, Any], changed: list[str]) -> Answer:
        """What the call gives."""
        return answered(
            partial(self.call, **arguments),
            errors=self.errors,
            names=self.named(changed, arguments),
            elsewhere=self.elsewhere,
        )

    def changes(self) -> st.SearchStrategy[list[str]]:
        """Which arguments are changed, one or two; most often data."""
        known = sorted(self.odd)
        weighted = known + [argument for argument in known if argument in _DATA] * len(known)
        return st.lists(st.sampled_from(weighted), min_size=1, max_size=2, unique=True)

    def named(self, changed: list[str], arguments: dict[str, Any]) -> tuple[str, ...]:
        """Of which names an error must have one: that of the one that changed; of several, or of data, any."""
        values = [arguments[argument] for argument in changed]
        if len(values) == 1 and isinstance(values[0], int | float | str | None | np.generic):
            return (*changed, *self.words)
        given = arguments.get("name")
        return (*self.odd, *self.words, *([given] if isinstance(given, str) else []))

    def property(self) -> Callable[[], None]:
        """Calls with many arguments: each works, with what must hold, or says what is wrong."""

        @share_of_examples(self.share)
        @given(st.data())
        def works_or_says_what_is_wrong(data: st.DataObject) -> None:
            arguments = self.fine()
            changed = data.draw(self.changes(), label="changed")
            for argument in changed:
                arguments[argument] = data.draw(self.odd[argument], label=argument)
            answer = self.answer(arguments, changed)
            if answer.worked:
                self.law(answer.result, arguments)

        return works_or_says_what_is_wrong
