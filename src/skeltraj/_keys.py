"""The only place that spells a stored key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Keys:
    """Keys under which results of a fit named `key` are stored."""

    key: str

    def __post_init__(self) -> None:
        if not isinstance(self.key, str) or not self.key or "/" in self.key:
            raise ValueError(f"key_added={self.key!r} cannot name a fit; wanted a string, not empty, without a slash.")

    @property
    def uns(self) -> str:
        return self.key

    @property
    def coordinates(self) -> str:
        return f"X_{self.key}"

    @property
    def assignment(self) -> str:
        return f"{self.key}_assignment"

    @property
    def loadings(self) -> str:
        return f"{self.key}_loadings"

    @property
    def similarity(self) -> str:
        return f"{self.key}_similarity"

    @property
    def pseudotime(self) -> str:
        return f"{self.key}_pseudotime"

    @property
    def branch(self) -> str:
        return f"{self.key}_branch"

    @property
    def component(self) -> str:
        return f"{self.key}_component"

    @property
    def distance(self) -> str:
        return f"{self.key}_distance"

    @property
    def far(self) -> str:
        return f"{self.key}_far"

    @property
    def position(self) -> str:
        return f"{self.key}_position"

    @property
    def lineages(self) -> str:
        return f"{self.key}_lineages"

    @property
    def pseudotime_sd(self) -> str:
        return f"{self.key}_pseudotime_sd"

    @property
    def branch_probability(self) -> str:
        return f"{self.key}_branch_probability"


def entry_of(column: str) -> str:
    """The name of what is stored in `uns` for a column of `obs`: in a file a slash would begin another level.

    Instead there is a division slash, which nobody writes into the name of a column.
    """
    return column.replace("/", "\u2215")


def names(prefix: str, n: int) -> np.ndarray:
    """Ids of `n` tips (prefix T), forks (F) or branches (B): T1, T2, ..."""
    return np.array([f"{prefix}{i}" for i in range(1, n + 1)], dtype=object)
