"""Small files in the formats of METABRIC's and TCGA's sources, and writing them."""

from __future__ import annotations

import gzip
import tarfile
import zipfile

import numpy as np
import pandas as pd

from skeltraj.datasets import _metabric, _tcga_brca
from stored import written_and_read

LABEL = _metabric.LABEL_COLUMN
PATIENTS, SAMPLES = "data_clinical_patient.txt", "data_clinical_sample.txt"
EXPRESSION = "data_mrna_illumina_microarray.txt"
ZSCORES = "data_mrna_illumina_microarray_zscores_ref_diploid_samples.txt"

TUMOURS = ["normal-like", "luminal A", "luminal B", "HER2", "basal"]


def counts(adata):
    """How many samples each subtype has, in the order of the categories."""
    return adata.obs["subtype"].value_counts(sort=False).to_dict()


def same_cohort(a, b):
    """Fail unless both hold the same, whatever container a file format gave to the list of colours."""
    np.testing.assert_array_equal(a.X, b.X)
    assert a.X.dtype == b.X.dtype
    pd.testing.assert_frame_equal(a.obs, b.obs)
    pd.testing.assert_frame_equal(a.var, b.var)
    assert set(a.obsm) == set(b.obsm)
    for key in a.obsm:
        pd.testing.assert_frame_equal(a.obsm[key], b.obsm[key])
    assert set(a.uns) == set(b.uns)
    assert a.uns["source"] == b.uns["source"]
    assert list(a.uns["subtype_colors"]) == list(b.uns["subtype_colors"])


def round_trip(adata, kind, folder):
    same_cohort(adata, written_and_read(adata, kind, folder))


METABRIC = pd.DataFrame(
    {
        "patient_id": [0, 2, 14, 5300, 7299],
        "age_at_diagnosis": [75.65, 43.19, 56.45, 60.0, 60.02],
        "cellularity": [None, "High", "Moderate", "Low", "High"],
        "chemotherapy": [0, 1, 0, 0, 1],
        LABEL: ["claudin-low", "Normal", "Basal", "NC", "LumA"],
        "integrative_cluster": ["3", "10", "8", "9", "3"],
        "3-gene_classifier_subtype": ["ER-/HER2-", None, "HER2+", "HER2+", None],
        "tumor_stage": [2.0, np.nan, 1.0, 4.0, 0.0],
        "brca1": [-1.399, 0.25, 0.5, 1.0, 2.0],
        "hla-g": [0.1, 0.2, 0.3, 0.4, 0.5],
        "erbb2": [5.0, 4.0, 3.0, 2.0, 1.0],
        "tp53_mut": ["0", "Q546H G1049R", "0", "*3*", "0"],
        "nras_mut": ["0", "0", "0", "0", "0"],
    }
)


def tcga_frame():
    rng = np.random.default_rng(0)
    samples = ["TCGA-3C-AAAU-01A", "TCGA-BH-A0W3-01A", "TCGA-BH-A0W3-11B", "TCGA-E9-A1N6-01A", "TCGA-E9-A1N6-01B"]
    frame = pd.DataFrame({"sample": samples, "patient": [s[:12] for s in samples]})
    frame["sample_type"] = ["Primary Tumor", "Primary Tumor", "Solid Tissue Normal", "Primary Tumor", "Primary Tumor"]
    frame["pam50"] = ["LumB", "Normal", None, None, None]
    values = pd.DataFrame(rng.uniform(0, 12, (5, 50)).round(5), columns=_tcga_brca.PAM50_GENES)
    return pd.concat([frame, values], axis="columns")


TCGA = tcga_frame()


def xena_files(folder, changed=None, old="", new=""):
    """Write the three TCGA downloads that hold `TCGA`, and things that must be left out; one of them may be changed."""
    genes = _tcga_brca.PAM50_GENES
    ids = {f"ENSG{i:011d}.3": gene for i, gene in enumerate(["TP53", *genes])}
    rows = TCGA.set_index("sample")[genes].T + 1e-7  # the source has more decimals than the table
    rows.insert(0, "TCGA-E9-A1N6-06A", 1.0)  # a metastasis
    rows = rows[rows.columns[::-1]]
    rows.loc["TP53"] = 3.0
    rows = rows.loc[list(ids.values())].set_axis(list(ids), axis="index")
    rows.loc["ENSG99999999999.1"] = -1.0  # a second, weaker row of the last gene
    ids["ENSG99999999999.1"] = genes[-1]
    probemap = pd.DataFrame({"id": list(ids), "gene": list(ids.values()), "chrom": "chr1", "chromStart": 1})
    patients = ["TCGA-3C-AAAU", "TCGA-BH-A0W3", "TCGA-E9-A1N6", "TCGA-XX-XXXX"]
    clinical = pd.DataFrame({"Study ID": "brca_tcga_pan_can_atlas_2018", "Patient ID": patients})
    clinical["Sample ID"] = clinical["Patient ID"] + "-01"
    clinical["Subtype"] = ["BRCA_LumB", "BRCA_Normal", None, "BRCA_Basal"]
    texts = {
        _tcga_brca.EXPRESSION_FILE: rows.to_csv(sep="\t", index_label="Ensembl_ID"),
        _tcga_brca.PROBEMAP_FILE: probemap.to_csv(sep="\t", index=False),
        _tcga_brca.CLINICAL_FILE: clinical.to_csv(sep="\t", index=False),
    }
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        if name == changed:
            assert old in text
            text = text.replace(old, new)
        (folder / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())


STUDY = {
    PATIENTS: (
        "#Patient Identifier\tAge at Diagnosis\tCohort\tIntegrative Cluster\tPam50 + Claudin-low subtype\tNote\n"
        "#Identifier to uniquely specify a patient.\tAge\tCohort.\tCluster\tPam50 + Claudin-low subtype\tNote\n"
        "#STRING\tNUMBER\tSTRING\tSTRING\tSTRING\tSTRING\n#1\t1\t1\t1\t1\t1\n"
        "PATIENT_ID\tAGE_AT_DIAGNOSIS\tCOHORT\tINTCLUST\tCLAUDIN_SUBTYPE\tA/NOTE\n"
        "MB-0000\t75.65\t1.0\t4\tclaudin-low\tcase #1\n"
        "MB-0002\t43.19\t1.0\t4\tLumA\t\n"
        "MB-0005\t\t1.0\t3\tNC\tx\nMB-0025\t76.24\t1.0\t\t\t\n"
    ),
    SAMPLES: (
        "#Patient Identifier\tSample Identifier\tER Status\n#id\tid\tER\n"
        "#STRING\tSTRING\tSTRING\n#PATIENT\tSAMPLE\tSAMPLE\n#1\t1\t1\n"
        "PATIENT_ID\tSAMPLE_ID\tER_STATUS\n"
        "MB-0000\tMB-0000\tPositive\nMB-0002\tMB-0002\tPositive\nMB-0005\tMB-0005\tNegative\nMB-0025\tMB-0025\t\n"
    ),
    EXPRESSION: (
        "Hugo_Symbol\tEntrez_Gene_Id\tMB-0005\tMB-0000\tMB-0002\tMB-9999\n"
        "ERBB2\t2064\t9.5\t8.5\t7.5\t6.5\n"
        "C1orf112\t55732\t5.0\t\t6.0\tNA\n"
        "ERBB2\t2065\t1.0\t1.0\t1.0\t1.0\n"
        "\t100\t2.0\t2.0\t2.0\t2.0\n"
        "EMPTY1\t101\tNA\tNA\tNA\tNA\n"
        "MYC\t\t4.0\t3.0\t2.0\t1.0\n"
    ),
    ZSCORES: ("Hugo_Symbol\tEntrez_Gene_Id\tMB-0000\tMB-0002\nMYC\t4609\t-1.5\t1.5\n"),
    "meta_study.txt": "cancer_study_identifier: brca_metabric\n",
}


def write_study(folder, **changed):
    """Write the study; files may be replaced by text, or left out with None."""
    folder.mkdir()
    for name, text in (STUDY | changed).items():
        if text is not None:
            (folder / name).write_text(text, encoding="utf-8")
    return folder


def tar_of(folder, archive):
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, arcname="brca_metabric")
    return archive


def zip_of(content, archive, name=_metabric.METABRIC_MEMBER):
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, content)
        file.writestr(f"__MACOSX/._{name}", b"")
        file.writestr("readme.txt", b"")
    return archive
