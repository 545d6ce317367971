"""TCGA's breast tumours as a table and from its sources."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from cohort_files import TCGA, TUMOURS, counts, same_cohort, xena_files
from samples import shared
from skeltraj import datasets
from skeltraj.datasets import _tcga_brca


def test_tcga_table(tcga_csv):
    adata = datasets.tcga_brca(tcga_csv)
    assert list(adata.obs_names) == list(TCGA["sample"])
    assert adata.obs_names.name is None
    assert list(adata.var_names) == _tcga_brca.PAM50_GENES
    np.testing.assert_array_equal(adata.X, TCGA[_tcga_brca.PAM50_GENES].to_numpy())
    assert list(adata.obs.columns) == ["subtype", "sample", "patient", "sample_type", "pam50"]
    assert list(adata.obs["subtype"].cat.categories) == ["normal tissue", "normal-like", "luminal B"]
    called = ["luminal B", "normal-like", "normal tissue", np.nan, np.nan]
    assert adata.obs["subtype"].astype(object).tolist() == called


def test_tcga_sources_in_a_folder_are_like_the_table(tcga_csv, tmp_path):
    xena_files(tmp_path / "sources")
    same_cohort(datasets.tcga_brca(tcga_csv), datasets.tcga_brca(tmp_path / "sources"))
    packed = tmp_path / "sources" / _tcga_brca.EXPRESSION_FILE
    packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
    packed.unlink()
    same_cohort(datasets.tcga_brca(tcga_csv), datasets.tcga_brca(tmp_path / "sources"))
    (tmp_path / "sources" / _tcga_brca.PROBEMAP_FILE).unlink()
    with pytest.raises(FileNotFoundError, match=rf"has no file {_tcga_brca.PROBEMAP_FILE}\. Available: \["):
        datasets.tcga_brca(tmp_path / "sources")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (TCGA.drop(columns=["patient", "MKI67"]), r"has no column\(s\) \['patient', 'MKI67'\]\. Available: \['sample'"),
        (TCGA.assign(sample_type="Metastatic"), r"has the sample_type \['Metastatic'\]; wanted \['Primary"),
        (TCGA.assign(pam50="BRCA_LumA"), r"column 'pam50' has subtype\(s\) \['BRCA_LumA'\]"),
        (TCGA.assign(sample=list("abcda")), r"\['a'\] more than once"),
        (TCGA.assign(ESR1=["x", 1, 2, 3, 4]), r"column\(s\) \['ESR1'\] hold gaps, or something else"),
    ],
)
def test_tcga_bad_tables(frame, message, tmp_path):
    frame.to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(ValueError, match=message):
        datasets.tcga_brca(tmp_path / "bad.csv")


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (
            _tcga_brca.EXPRESSION_FILE,
            "ENSG00000000042.3",
            "ENSG00000000042.9",
            r"has no \['PHGDH'\]; wanted all 50 genes",
        ),
        (_tcga_brca.EXPRESSION_FILE, "-11B", "-10B", "none of Solid Tissue Normal; wanted some"),
        (_tcga_brca.EXPRESSION_FILE, "-01", "-06", r"\['TCGA-E9-A1N6-06A'\] more than once"),
        (_tcga_brca.PROBEMAP_FILE, "ORC6", "ORC6L", r"probemap has no \['ORC6'\]; wanted all 50 genes"),
        (_tcga_brca.PROBEMAP_FILE, "gene", "symbol", r"probemap has no column\(s\) \['gene'\]"),
        (
            _tcga_brca.CLINICAL_FILE,
            "Subtype",
            "Other",
            r"has no column\(s\) \['Subtype'\]\. Available: \['Study ID', 'Patient ID'",
        ),
        (_tcga_brca.CLINICAL_FILE, "TCGA-", "TCGB-", "has the patients .*TCGB-3C-AAAU.*, none of whom is in "),
    ],
)
def test_tcga_bad_sources(name, old, new, message, tmp_path):
    xena_files(tmp_path / "sources", name, old, new)
    with pytest.raises(ValueError, match=message):
        datasets.tcga_brca(tmp_path / "sources")


def test_real_tcga():
    adata = datasets.tcga_brca(shared("data/tcga_brca_pam50/tcga_brca_pam50_genes.csv.gz"))
    assert adata.shape == (1219, 50)
    assert counts(adata) == dict(zip(["normal tissue", *TUMOURS], [113, 36, 504, 197, 78, 176], strict=True))
    # the receptor is what tells luminal from basal tumours
    means = adata[:, "ESR1"].to_df()["ESR1"].groupby(adata.obs["subtype"], observed=True).mean()
    assert means["luminal A"] > means["basal"] + 3
