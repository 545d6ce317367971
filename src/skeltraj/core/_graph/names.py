"""Names of the tips, forks and branches of a skeleton."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from skeltraj._printing import Printed
from skeltraj.core._runtime import check

_MAX_JOINED = 4  # names of branches that one name spells out; chosen by eye


@dataclass(frozen=True, repr=False)
class Names(Printed):
    """Names that a skeleton inherits from a larger one, of which it is a part.

    Parameters
    ----------
    tips, forks, branches
        One name for each, in the order of those of the :class:`Graph`. No two tips or forks have the same, and no two
        branches.
    """

    tips: tuple[str, ...]
    forks: tuple[str, ...]
    branches: tuple[str, ...]

    def check(self, n_tips: int, n_forks: int, n_branches: int) -> None:
        """Raise if there is not one name for each, different from the others'."""
        for what, given, n in (
            ("tips", self.tips, n_tips),
            ("forks", self.forks, n_forks),
            ("branches", self.branches, n_branches),
        ):
            if not isinstance(given, tuple) or not all(isinstance(name, str) for name in given):
                raise TypeError(f"names: {what}={check.in_message(given)}; wanted a tuple of str.")
            if len(given) != n:
                raise ValueError(f"names: {len(given)} {what} are named, {list(given)}; wanted {n} names.")
        for what, given in (("tips and forks", self.tips + self.forks), ("branches", self.branches)):
            twice = [name for i, name in enumerate(given) if name in given[:i]]
            if twice:
                raise ValueError(f"names: {twice[0]!r} names two {what}; wanted names that differ.")


def part_names(
    tips: Iterable[str | None], forks: Iterable[str | None], branches: Iterable[Sequence[str]], taken: Iterable[str]
) -> Names:
    """The names in a part of a skeleton.

    Parameters
    ----------
    tips, forks
        The name that each one's node has in the whole; None: it has none.
    branches
        For each branch the names of those of the whole that it runs along, in that order. Several are joined by "+"
        (of more than 4 the first and the last, "B1+...+B9"). A name that is there already (on graphs with loops two
        ends of one branch may be in the part) gets a number.
    taken
        Names of nodes of the whole: none of them is given to another node.
    """
    known = set(taken)
    new = (name for name in (f"cut{i}" for i in count(1)) if name not in known)
    called: list[str] = []
    for along in branches:
        name = "+".join(along if len(along) <= _MAX_JOINED else (along[0], "...", along[-1]))
        free = (other for other in (name, *(f"{name} ({i})" for i in range(2, len(called) + 3))) if other not in called)
        called.append(next(free))
    of_nodes = lambda given: tuple(next(new) if name is None else name for name in given)
    return Names(of_nodes(tips), of_nodes(forks), tuple(called))
