"""Progress on standard error."""

from __future__ import annotations

import scanpy as sc

import skeltraj as st


def test_progress_is_shown_when_asked_or_by_scanpys_verbosity(adata, capsys):
    st.tl.ddrtree(adata)
    assert capsys.readouterr().err == ""
    st.tl.ddrtree(adata, progress=True)
    assert "ddrtree: 5 of 5 starts" in capsys.readouterr().err
    st.tl.ddrtree(adata, n_starts=1, progress=True)
    shown = capsys.readouterr().err
    n_iter, last = adata.uns["ddrtree"]["n_iter"], adata.uns["ddrtree"]["objective"][-1]
    assert f"ddrtree: round {n_iter}, objective {last:.6g}" in shown
    verbosity = sc.settings.verbosity
    try:
        sc.settings.verbosity = 3
        st.tl.ddrtree(adata)
        assert "ddrtree: 5 of 5 starts" in capsys.readouterr().err
        st.tl.ddrtree(adata, progress=False)
        assert capsys.readouterr().err == ""
    finally:
        sc.settings.verbosity = verbosity
