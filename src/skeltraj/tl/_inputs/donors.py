"""Columns of `obs` that name conditions and donors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj._keys import TestEntry
from skeltraj.get._reading.checks import available, obs_column

from .same_words import refuse_same_words


@dataclass(frozen=True, eq=False)
class CellGrouping:
    """Condition and donor of each cell, as far as they were asked for.

    Parameters
    ----------
    condition, sample
        Names of the columns.
    condition_of, sample_of
        Categorical columns, (n_obs,).
    """

    condition: str | None
    sample: str | None
    condition_of: pd.Series | None
    sample_of: pd.Series | None

    @property
    def known(self) -> np.ndarray | bool:
        """Cells without a missing value, (n_obs,)."""
        known: np.ndarray | bool = True
        for column in (self.condition_of, self.sample_of):
            if column is not None:
                known = known & column.notna().to_numpy()
        return known

    @property
    def sample_codes(self) -> np.ndarray | None:
        """(n_obs,); negative: none."""
        return None if self.sample_of is None else self.sample_of.cat.codes.to_numpy(dtype=np.int64)

    @property
    def or_unmeasured(self) -> str:
        """Why else a gene may have no p-value, for messages."""
        return "" if self.sample is None else ", or are measured well enough in at most one donor,"

    def check(self, used: np.ndarray) -> None:
        """Refuse cells of one condition or of one donor, and conditions with one donor, among those used."""
        if self.condition_of is not None:
            cells = self.condition_of[used].value_counts()
            there = cells[cells > 0]
            if len(there) < 2:
                raise ValueError(
                    f"condition={self.condition!r} gives {available(there.index)} to the {int(used.sum())} cells used; "
                    "wanted at least two conditions."
                )
        if self.sample_of is None:
            return
        donors = self.sample_of[used].unique()
        if len(donors) < 2:
            raise ValueError(
                f"sample={self.sample!r} gives {available(donors)} to all {int(used.sum())} cells used; wanted at "
                "least two donors."
            )
        if len(donors) == int(used.sum()):
            raise ValueError(
                f"sample={self.sample!r} names another donor for each of the {len(donors)} cells used; wanted donors "
                "with several cells, or sample=None, with cells as the unit."
            )
        if self.condition_of is None:
            return
        # without the names of cells, by which pandas would match the two: they need not be unique
        donor, condition = (column[used].reset_index(drop=True) for column in (self.sample_of, self.condition_of))
        cells_of = pd.crosstab(donor, condition)
        n_conditions, n_donors = (cells_of > 0).sum(axis=1), (cells_of > 0).sum(axis=0)
        if n_conditions.max() == 1 and n_donors.min() < 2:
            raise ValueError(
                f"condition {str(n_donors.idxmin())!r} has cells of one donor only "
                f"({cells_of.index[cells_of[n_donors.idxmin()] > 0][0]!r}); wanted at least two donors for each "
                "condition, or donors with cells of several conditions."
            )

    def recorded(self, usable: np.ndarray, used: np.ndarray) -> dict[str, object]:
        """What is stored of the choice; `usable` are cells that lack nothing else."""
        record: dict[str, object] = {}
        left_out = {}
        for name, column, values in (
            (TestEntry.CONDITION, self.condition, self.condition_of),
            (TestEntry.SAMPLE, self.sample, self.sample_of),
        ):
            if values is not None and column is not None:
                record[name] = column
                left_out[name] = int((values.isna().to_numpy() & usable).sum())
        if record:
            record[TestEntry.LEFT_OUT] = left_out
        if self.sample_of is not None:
            record[TestEntry.N_SAMPLES] = int(self.sample_of[used].nunique())
        return record


def read_cell_grouping(adata: AnnData, condition: str | None, sample: str | None) -> CellGrouping:
    """The columns of conditions and donors.

    Raises
    ------
    KeyError
        If there is no such column; the message lists those there are.
    TypeError, ValueError
        If a column holds fractions, or both are the same.
    """
    if condition is not None and condition == sample:
        raise ValueError(f"condition and sample are both {sample!r}; wanted two columns, or one of them None.")
    return CellGrouping(
        condition, sample, _categories(adata, condition, "condition"), _categories(adata, sample, "sample")
    )


def _categories(adata: AnnData, name: str | None, argument: str) -> pd.Series | None:
    if name is None:
        return None
    column = obs_column(adata, name, argument)
    if pd.api.types.is_float_dtype(column) and (column.dropna() % 1 != 0).any():
        raise TypeError(f"{argument}: adata.obs[{name!r}] holds fractions ({column.dtype}); wanted categories.")
    column = column.astype("category")
    refuse_same_words(column, name, argument)
    return column
