"""Copies that are asked for."""

from __future__ import annotations

from anndata import AnnData


def refuse_copy_on_disk(adata: AnnData, copy: bool) -> None:
    """Raise if a copy is asked for of data on disk, which AnnData would refuse once all is done.

    To store something in a view of data on disk is to copy it.
    """
    if not isinstance(adata, AnnData) or not adata.isbacked:  # anything else is refused by its reader
        return
    if copy:
        raise ValueError("copy=True for an AnnData on disk (backed); wanted copy=False, or adata.to_memory() first.")
    if adata.is_view:
        raise ValueError(
            "adata is a view of an AnnData on disk (backed), which can store nothing; wanted adata.to_memory()."
        )
