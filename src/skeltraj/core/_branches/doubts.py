"""What speaks against a tree as it was learned, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from skeltraj._printing import listed, several, told_apart

from .starts import LITTLE_AGREEMENT, LITTLE_ORDER, MOST, NEAR_ENDS
from .tips import LITTLE_VALUE

# By measurement (docs/methods/support_measured.md).
_TRY = (
    "Try another preparation (normalised, log-transformed and not scaled, other genes, another number of principal "
    "components); more cells help more often, more starts seldom"
)


class Doubt(NamedTuple):
    """A doubt: of which kind, in words, and what to try, without a full stop ("": nothing)."""

    kind: Literal["differ", "lacked", "tips", "order", "ends"]
    text: str
    advice: str


@dataclass(frozen=True, repr=False, eq=False)
class Evidence:
    """How a tree compares with those from other starts and from parts of the rows.

    Parameters
    ----------
    agreement
        With them, at best; NaN: there were none.
    branches
        Names of the tree's branches.
    found
        The share of these trees that have each of them, (n_branches,); None: it is not known, as of a tree that was
        pruned again.
    values
        By which the number of tips was chosen, of each number; empty: it was given.
    order
        How alike they have the rows in order, of a line; else NaN.
    ends
        How far the ends of a line are from each other, as a share of its length; else NaN.
    rows
        What rows are called: "rows", "cells".
    """

    agreement: float
    branches: Sequence[str]
    found: np.ndarray | None
    values: Mapping[int, float]
    order: float
    ends: float
    rows: str

    @property
    def others(self) -> str:
        """The trees with which the tree was compared."""
        return f"the trees from other starts and from parts of the {self.rows}"

    @property
    def lacked(self) -> list[str]:
        """The branches that most of these trees lack."""
        if self.found is None:
            return []
        return [str(name) for name, share in zip(self.branches, self.found, strict=True) if share < MOST]

    def of_branches(self, tips_call: Callable[[int], str] | None = None) -> Doubt | None:
        """That the trees differ, that most of them lack a branch, or that the number of tips is in doubt; the first.

        `tips_call` gives the call that leaves so many tips; None: there is none.
        """
        lost = self.lacked
        # where all others have all its branches, they only add to them
        shared = self.found is not None and bool((self.found == 1).all())
        if self.agreement < LITTLE_AGREEMENT and not shared:
            number, _ = told_apart(self.agreement, LITTLE_AGREEMENT, ".2f")
            text = (
                f"{self.others} differ: agreement {number}, where 1 is the same; below {LITTLE_AGREEMENT} the data as "
                "they were given do not settle the tree." + (f" Most of them lack {listed(lost)}." if lost else "")
            )
            return Doubt("differ", text, _TRY)
        if lost:
            n = several(len(self.branches), "branch", "branches")
            text = f"most of {self.others} lack {listed(lost)} (of {n}; agreement on all {self.agreement:.2f})."
            return Doubt("lacked", text, "Check whether known groups or genes differ there")
        return self._of_tips(tips_call)

    def _of_tips(self, tips_call: Callable[[int], str] | None) -> Doubt | None:
        ranked = sorted(self.values.items(), key=lambda pair: -pair[1])  # of equal ones the first was chosen
        # nor is a number in doubt that was chosen again since, which leaves no support from starts
        if not ranked or self.found is None:
            return None
        (n_tips, most), *others = ranked
        if n_tips <= 2 or most >= LITTLE_VALUE:
            return None
        number, _ = told_apart(most, LITTLE_VALUE, ".2f")
        next_one = ""
        if others and others[0][1] > 0:
            call = "" if tips_call is None else f": {tips_call(others[0][0])}"
            next_one = f"; {others[0][0]} tips have {others[0][1]:.2f}{call}"
        text = (
            f"the number of tips, {n_tips}, is in doubt: its value is {number}, and below {LITTLE_VALUE} few simulated "
            f"trees were right (value: agreement with the trees of parts of the {self.rows} beyond chance, times the "
            f"share of all gains that these branches keep{next_one})."
        )
        advice = "Look whether known groups part as the tree has them, or try another preparation"
        return Doubt("tips", text, advice)

    def of_line(self) -> Doubt | None:
        """A reason to doubt a line: any other line has its branch, whatever the data."""
        if self.order < LITTLE_ORDER:
            number, _ = told_apart(self.order, LITTLE_ORDER, ".2f")
            text = (
                f"the tree is a line, but {self.others} order the {self.rows} differently: rank correlation "
                f"{number} on average, where 1 is the same; below {LITTLE_ORDER} the data as they were given show no "
                f"order from one end to the other. The {self.rows} may be one cloud, whose order means nothing, or a "
                "cycle, which has no ends."
            )
            return Doubt("order", text, "")
        if self.found is not None and self.ends < NEAR_ENDS:
            text = (
                f"the tree is a line whose ends are near each other, {100 * self.ends:.0f} % of its length apart. The "
                f"{self.rows} may lie on a cycle, which has no ends and is cut open where they happen to be few."
            )
            return Doubt("ends", text, "")
        return None
