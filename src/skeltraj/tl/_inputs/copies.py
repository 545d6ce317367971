"""Copies that are asked for."""

from __future__ import annotations

from anndata import AnnData


def refuse_copy_on_disk(adata: AnnData, copy: bool) -> None:
    """Raise if a copy is asked for of data on disk, which AnnData would refuse once all is done."""
    if copy and adata.isbacked:
        raise ValueError("copy=True for an AnnData on disk (backed); wanted copy=False, or adata.to_memory() first.")
