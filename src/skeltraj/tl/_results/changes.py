"""What is to be stored in an AnnData and removed from it: all of it, or nothing."""

from __future__ import annotations

import copy as copying
from typing import Any, Literal

from anndata import AnnData

from skeltraj.core._runtime.interrupts import interrupts_noted

Slot = Literal["obs", "var", "obsm", "obsp", "varm", "uns"]
_MISSING: Any = object()  # no entry


class Changes:
    """Entries to store or to remove, collected first and made together.

    Nothing is done before `make`, which puts back what was there if anything goes wrong meanwhile, an interrupt
    included. Values are stored as they are given: dictionaries must be new ones, not those that are stored already.
    """

    def __init__(self) -> None:
        self._new: dict[tuple[Slot, str], Any] = {}

    def put(self, slot: Slot, key: str, value: Any) -> None:
        """Store a value; None: remove what is there."""
        self._new[slot, key] = _MISSING if value is None else value

    def remove(self, slot: Slot, *keys: str) -> None:
        """Remove entries, where they are there and nothing is stored in their place."""
        for key in keys:
            self._new.setdefault((slot, key), _MISSING)

    def there(self, adata: AnnData) -> list[tuple[Slot, str]]:
        """The entries of `adata` that would be replaced or removed."""
        return [(slot, key) for slot, key in self._new if key in getattr(adata, slot)]

    def make(self, adata: AnnData, *, of_others: bool = False) -> None:
        """Make the changes, or none of them.

        With `of_others` the values hold parts of what other data store, of which `adata` is a copy, as those for a view
        hold parts of its parent: these are copied, so that to change one is not to change the other.

        Raises
        ------
        KeyboardInterrupt
            If the user interrupted meanwhile; `adata` is then as it was.
        """
        new = self._new
        if of_others or adata.is_view:
            new = {(slot, key): _copied(value) if slot == "uns" else value for (slot, key), value in new.items()}
        before = {(slot, key): _current(adata, slot, key) for slot, key in new}
        columns, genes = list(adata.obs.columns), list(adata.var.columns)
        with interrupts_noted() as interrupted:
            try:
                for (slot, key), value in new.items():
                    _set(adata, slot, key, value)
                if interrupted():
                    raise KeyboardInterrupt
            except BaseException:
                for (slot, key), value in before.items():
                    _set(adata, slot, key, value)
                if list(adata.obs.columns) != columns:
                    adata.obs = adata.obs[columns]
                if list(adata.var.columns) != genes:
                    adata.var = adata.var[genes]
                raise
        if interrupted():  # after all was stored
            raise KeyboardInterrupt


def _current(adata: AnnData, slot: Slot, key: str) -> Any:
    entries = getattr(adata, slot)
    return entries[key] if key in entries else _MISSING


def _copied(value: Any) -> Any:
    return value if value is _MISSING else copying.deepcopy(value)


def _set(adata: AnnData, slot: Slot, key: str, value: Any) -> None:
    entries = getattr(adata, slot)  # asked for each time: the first change of a view makes new ones
    if value is not _MISSING:
        entries[key] = value
    elif key in entries:
        # a table that is read lazily removes nothing by itself
        del (entries if hasattr(entries, "__delitem__") else entries.ds)[key]
