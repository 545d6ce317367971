from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
import pytest

from skeltraj import datasets
from skeltraj.datasets import _breast_cancer as bc

OKABE_ITO = {"#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"}


def shared_file(name: str) -> Path:
    root = Path(os.environ.get("SKELTRAJ_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    file = root / "data" / name
    if not file.exists():
        pytest.skip(f"the shared table {name} is absent")
    return file


def same(a: ad.AnnData, b: ad.AnnData) -> None:
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


# --- small tables in the formats of the sources -----------------------------------------------------------------------


def metabric_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "patient_id": [0, 2, 14, 5300, 7299],
            "age_at_diagnosis": [75.65, 43.19, 56.45, 60.0, 60.02],
            "cellularity": [None, "High", "Moderate", "Low", "High"],
            "chemotherapy": [0, 1, 0, 0, 1],
            "pam50_+_claudin-low_subtype": ["claudin-low", "Normal", "Basal", "NC", "LumA"],
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


def tcga_frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    samples = ["TCGA-3C-AAAU-01A", "TCGA-BH-A0W3-01A", "TCGA-BH-A0W3-11B", "TCGA-E9-A1N6-01A", "TCGA-E9-A1N6-01B"]
    frame = pd.DataFrame({"sample": samples, "patient": [s[:12] for s in samples]})
    frame["sample_type"] = ["Primary Tumor", "Primary Tumor", "Solid Tissue Normal", "Primary Tumor", "Primary Tumor"]
    frame["pam50"] = ["LumB", "Normal", None, None, None]
    values = pd.DataFrame(rng.uniform(0, 12, (5, 50)).round(5), columns=list(bc._PAM50_GENES))
    return pd.concat([frame, values], axis="columns")


def xena_files(folder: Path) -> dict[str, str]:
    """Write the three TCGA downloads that hold `tcga_frame`, and things that must be left out; return their texts."""
    table = tcga_frame()
    genes = list(bc._PAM50_GENES)
    ids = {f"ENSG{i:011d}.3": gene for i, gene in enumerate(["TP53", *genes])}
    rows = table.set_index("sample")[genes].T + 1e-7  # the source has more decimals than the table
    rows.insert(0, "TCGA-E9-A1N6-06A", 1.0)  # a metastasis
    rows = rows[rows.columns[::-1]]
    rows.loc["TP53"] = 3.0
    rows = rows.loc[list(ids.values())].set_axis(list(ids), axis="index")
    rows.loc["ENSG99999999999.1"] = -1.0  # a second, weaker row of the last gene
    ids["ENSG99999999999.1"] = genes[-1]
    probemap = pd.DataFrame({"id": list(ids), "gene": list(ids.values()), "chrom": "chr1", "chromStart": 1})
    clinical = pd.DataFrame(
        {
            "Study ID": "brca_tcga_pan_can_atlas_2018",
            "Patient ID": ["TCGA-3C-AAAU", "TCGA-BH-A0W3", "TCGA-E9-A1N6", "TCGA-XX-XXXX"],
            "Sample ID": ["TCGA-3C-AAAU-01", "TCGA-BH-A0W3-01", "TCGA-E9-A1N6-01", "TCGA-XX-XXXX-01"],
            "Subtype": ["BRCA_LumB", "BRCA_Normal", None, "BRCA_Basal"],
        }
    )
    texts = {
        bc.TCGA_EXPRESSION_FILE: rows.to_csv(sep="\t", index_label="Ensembl_ID"),
        bc.TCGA_PROBEMAP_FILE: probemap.to_csv(sep="\t", index=False),
        bc.TCGA_CLINICAL_FILE: clinical.to_csv(sep="\t", index=False),
    }
    write_xena(folder, texts)
    return texts


def write_xena(folder: Path, texts: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())


STUDY = {
    "data_clinical_patient.txt": (
        "#Patient Identifier\tAge at Diagnosis\tCohort\tIntegrative Cluster\tPam50 + Claudin-low subtype\tNote\n"
        "#Identifier to uniquely specify a patient.\tAge\tCohort.\tCluster\tPam50 + Claudin-low subtype\tNote\n"
        "#STRING\tNUMBER\tSTRING\tSTRING\tSTRING\tSTRING\n"
        "#1\t1\t1\t1\t1\t1\n"
        "PATIENT_ID\tAGE_AT_DIAGNOSIS\tCOHORT\tINTCLUST\tCLAUDIN_SUBTYPE\tA/NOTE\n"
        "MB-0000\t75.65\t1.0\t4\tclaudin-low\tcase #1\n"
        "MB-0002\t43.19\t1.0\t4\tLumA\t\n"
        "MB-0005\t\t1.0\t3\tNC\tx\n"
        "MB-0025\t76.24\t1.0\t\t\t\n"
    ),
    "data_clinical_sample.txt": (
        "#Patient Identifier\tSample Identifier\tER Status\n#id\tid\tER\n"
        "#STRING\tSTRING\tSTRING\n#PATIENT\tSAMPLE\tSAMPLE\n#1\t1\t1\n"
        "PATIENT_ID\tSAMPLE_ID\tER_STATUS\n"
        "MB-0000\tMB-0000\tPositive\nMB-0002\tMB-0002\tPositive\nMB-0005\tMB-0005\tNegative\nMB-0025\tMB-0025\t\n"
    ),
    "data_mrna_illumina_microarray.txt": (
        "Hugo_Symbol\tEntrez_Gene_Id\tMB-0005\tMB-0000\tMB-0002\tMB-9999\n"
        "ERBB2\t2064\t9.5\t8.5\t7.5\t6.5\n"
        "C1orf112\t55732\t5.0\t\t6.0\tNA\n"
        "ERBB2\t2065\t1.0\t1.0\t1.0\t1.0\n"
        "\t100\t2.0\t2.0\t2.0\t2.0\n"
        "EMPTY1\t101\tNA\tNA\tNA\tNA\n"
        "MYC\t\t4.0\t3.0\t2.0\t1.0\n"
    ),
    "data_mrna_illumina_microarray_zscores_ref_diploid_samples.txt": (
        "Hugo_Symbol\tEntrez_Gene_Id\tMB-0000\tMB-0002\nMYC\t4609\t-1.5\t1.5\n"
    ),
    "meta_study.txt": "cancer_study_identifier: brca_metabric\n",
}


def write_study(folder: Path, **changed: str | None) -> Path:
    """Write the study; files may be replaced by text, or left out with None."""
    folder.mkdir()
    for name, text in (STUDY | changed).items():
        if text is not None:
            (folder / name).write_text(text, encoding="utf-8")
    return folder


def tar_of(folder: Path, archive: Path) -> Path:
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, arcname="brca_metabric")
    return archive


def zip_of(content: bytes, archive: Path, name: str = bc.METABRIC_MEMBER) -> Path:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, content)
        file.writestr(f"__MACOSX/._{name}", b"")
        file.writestr("readme.txt", b"")
    return archive


# --- METABRIC: the table ----------------------------------------------------------------------------------------------


@pytest.fixture
def metabric_csv(tmp_path: Path) -> Path:
    file = tmp_path / "table.csv"
    metabric_frame().to_csv(file, index=False)
    return file


def test_metabric_table(metabric_csv: Path) -> None:
    adata = datasets.metabric(metabric_csv)
    assert list(adata.obs_names) == ["MB-0000", "MB-0002", "MB-0014", "MB-5300", "MB-7299"]
    assert list(adata.var_names) == ["BRCA1", "HLA-G", "ERBB2"]
    assert adata.X.dtype == np.float64
    np.testing.assert_array_equal(adata.X, metabric_frame()[["brca1", "hla-g", "erbb2"]].to_numpy())
    subtype = adata.obs["subtype"]
    assert list(subtype.cat.categories) == ["normal-like", "luminal A", "basal", "claudin-low"]
    assert subtype.astype(object).tolist() == ["claudin-low", "normal-like", "basal", np.nan, "luminal A"]
    assert "source" in adata.uns
    assert "brca_metabric" in adata.uns["source"]


def test_metabric_clinical_columns_are_tidy(metabric_csv: Path) -> None:
    obs = datasets.metabric(metabric_csv).obs
    clinical = [c for c in metabric_frame().columns if c in bc._METABRIC_CLINICAL]
    assert list(obs.columns) == ["subtype", *clinical]
    numbers = {c for c in clinical if obs[c].dtype == np.float64}
    assert numbers == {"age_at_diagnosis", "chemotherapy", "tumor_stage"}
    assert all(obs[c].dtype == "category" for c in set(clinical) - numbers)
    # codes of a classification stay codes even where all of them are digits
    assert list(obs["integrative_cluster"]) == ["3", "10", "8", "9", "3"]
    assert obs["cellularity"].isna().tolist() == [True, False, False, False, False]
    assert obs["pam50_+_claudin-low_subtype"].tolist()[3] == "NC"


def test_metabric_mutations(metabric_csv: Path) -> None:
    mutations = datasets.metabric(metabric_csv).obsm["mutations"]
    assert list(mutations.columns) == ["TP53", "NRAS"]
    assert mutations.dtypes.tolist() == [bool, bool]
    assert mutations["TP53"].tolist() == [False, True, False, True, False]
    assert not mutations["NRAS"].any()


def test_metabric_table_in_any_wrapping(metabric_csv: Path, tmp_path: Path) -> None:
    plain = datasets.metabric(str(metabric_csv))
    content = metabric_csv.read_bytes()
    packed = tmp_path / "table.csv.gz"
    packed.write_bytes(gzip.compress(content))
    same(plain, datasets.metabric(packed))
    same(plain, datasets.metabric(zip_of(content, tmp_path / "a.zip")))
    same(plain, datasets.metabric(zip_of(gzip.compress(content), tmp_path / "b.zip", "other.csv.gz")))


def test_metabric_genes_in_the_order_asked_for(metabric_csv: Path) -> None:
    adata = datasets.metabric(metabric_csv, genes=["ERBB2", "brca1"])
    assert list(adata.var_names) == ["ERBB2", "BRCA1"]
    np.testing.assert_array_equal(adata.X[:, 0], [5, 4, 3, 2, 1])
    with pytest.raises(ValueError, match=r"gene\(s\) NOPE; genes found there: BRCA1, HLA-G, ERBB2"):
        datasets.metabric(metabric_csv, genes=["ERBB2", "NOPE"])
    with pytest.raises(TypeError, match="'ERBB2'"):
        datasets.metabric(metabric_csv, genes="ERBB2")
    with pytest.raises(ValueError, match="`genes` is empty"):
        datasets.metabric(metabric_csv, genes=[])


@pytest.mark.parametrize("loader", [datasets.metabric, datasets.tcga_brca])
def test_missing_file(loader, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"does not exist: .*absent\.csv"):
        loader(tmp_path / "absent.csv")


def change(frame: pd.DataFrame, column: str, values: object) -> pd.DataFrame:
    return frame.assign(**{column: values})


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (metabric_frame().drop(columns="patient_id"), r"lacks the column\(s\) patient_id; it has age_at_diagnosis"),
        (
            metabric_frame().drop(columns=["patient_id", bc._METABRIC_LABEL]),
            r"lacks the column\(s\) patient_id, pam50_\+_claudin-low_subtype",
        ),
        (metabric_frame().drop(columns=["brca1", "hla-g", "erbb2"]), "no column with the expression"),
        (change(metabric_frame(), bc._METABRIC_LABEL, "LumC"), "subtype LumC .* known are Normal, LumA"),
        (change(metabric_frame(), "patient_id", [1, 2, 1, 3, 4]), "more than once: 1$"),
        (change(metabric_frame(), "patient_id", [1, 2, None, 3, 4]), "without a value for 'patient_id'"),
        (change(metabric_frame(), "brca1", [1, 2, None, 3, 4]), r"column\(s\) with something else: brca1$"),
        (change(metabric_frame(), "surprise", list("abcde")), r"column\(s\) with something else: surprise$"),
        (change(metabric_frame(), "BRCA1", 1.0), "more than once: BRCA1$"),
    ],
)
def test_metabric_bad_tables(frame: pd.DataFrame, message: str, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(ValueError, match=message) as caught:
        datasets.metabric(tmp_path / "bad.csv")
    assert "bad.csv" in str(caught.value)


def test_unreadable_files(metabric_csv: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress(metabric_csv.read_bytes())[:-20])
    with pytest.raises(ValueError, match=r"cut\.csv\.gz cannot be read as a table"):
        datasets.metabric(cut)
    empty = tmp_path / "empty.csv"
    empty.touch()
    with pytest.raises(ValueError, match=r"empty\.csv is empty"):
        datasets.metabric(empty)
    pointer = tmp_path / "pointer.csv"
    pointer.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    with pytest.raises(ValueError, match="Git LFS pointer"):
        datasets.metabric(pointer)
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as file:
        file.writestr("a.csv", "")
        file.writestr("b.csv", "")
    with pytest.raises(ValueError, match=r"must hold one \.csv table.* it holds a\.csv, b\.csv"):
        datasets.metabric(tmp_path / "two.zip")


# --- METABRIC: the study files ----------------------------------------------------------------------------------------


def test_metabric_study(tmp_path: Path) -> None:
    adata = datasets.metabric(write_study(tmp_path / "study"))
    assert list(adata.obs_names) == ["MB-0005", "MB-0000", "MB-0002", "MB-9999"]
    # no row without symbol, none without values, the first of two with one symbol
    assert list(adata.var_names) == ["ERBB2", "C1orf112", "MYC"]
    np.testing.assert_array_equal(adata[:, "ERBB2"].X.ravel(), [9.5, 8.5, 7.5, 6.5])
    # the gaps hold the median of 5 and 6
    np.testing.assert_array_equal(adata[:, "C1orf112"].X.ravel(), [5.0, 5.5, 6.0, 5.5])
    assert adata.var["n_missing"].tolist() == [0, 2, 0]
    assert adata.obs["subtype"].astype(object).tolist() == [np.nan, "claudin-low", "luminal A", np.nan]
    assert adata.obs["AGE_AT_DIAGNOSIS"].dtype == np.float64
    assert adata.obs["INTCLUST"].dtype == "category"
    assert adata.obs.loc["MB-0000", "A_NOTE"] == "case #1"
    assert adata.obs["ER_STATUS"].astype(object).tolist() == ["Negative", "Positive", "Positive", np.nan]
    assert adata.uns["source"].endswith("data_mrna_illumina_microarray.txt")
    assert "mutations" not in adata.obsm


def test_metabric_study_archive_is_like_its_folder(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study")
    expected = datasets.metabric(folder)
    same(expected, datasets.metabric(tar_of(folder, tmp_path / "brca_metabric.tar.gz")))
    # the folder around it, and tables that were compressed one by one
    (tmp_path / "outer").mkdir()
    inner = shutil.copytree(folder, tmp_path / "outer" / "brca_metabric")
    table = inner / "data_mrna_illumina_microarray.txt"
    (inner / "data_mrna_illumina_microarray.txt.gz").write_bytes(gzip.compress(table.read_bytes()))
    table.unlink()
    same(expected, datasets.metabric(tmp_path / "outer"))


def test_byte_order_mark_is_no_part_of_the_table(tmp_path: Path, metabric_csv: Path) -> None:
    marked = tmp_path / "marked.csv"
    marked.write_bytes(b"\xef\xbb\xbf" + metabric_csv.read_bytes())
    same(datasets.metabric(metabric_csv), datasets.metabric(marked))
    folder = write_study(tmp_path / "marked", **{name: "\ufeff" + STUDY[name] for name in STUDY})
    same(datasets.metabric(write_study(tmp_path / "study")), datasets.metabric(folder))


def test_metabric_study_genes(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study")
    adata = datasets.metabric(folder, genes=["MYC", "c1ORF112"])
    same(adata, datasets.metabric(folder)[:, ["MYC", "C1orf112"]].copy())
    with pytest.raises(ValueError, match=r"gene\(s\) NOPE, EMPTY1; genes found there: MYC"):
        datasets.metabric(folder, genes=["NOPE", "MYC", "EMPTY1"])
    with pytest.raises(ValueError, match=r"gene\(s\) NOPE; genes found there: nothing"):
        datasets.metabric(folder, genes=["NOPE"])


def test_metabric_study_tables(tmp_path: Path, metabric_csv: Path) -> None:
    folder = write_study(tmp_path / "study")
    zscores = "data_mrna_illumina_microarray_zscores_ref_diploid_samples.txt"
    adata = datasets.metabric(folder, table=zscores)
    np.testing.assert_array_equal(adata.X, [[-1.5], [1.5]])
    assert adata.uns["source"].endswith(zscores)
    (folder / "data_mrna_illumina_microarray.txt").rename(folder / "data_expression_median.txt")
    assert datasets.metabric(folder).n_obs == 4
    (folder / "data_expression_median.txt").unlink()
    same(adata, datasets.metabric(folder))
    with pytest.raises(ValueError, match=r"no expression table data_x\.txt; it has data_clinical_patient\.txt"):
        datasets.metabric(folder, table="data_x.txt")
    with pytest.raises(ValueError, match=r"`table` chooses.*'data_x\.txt'"):
        datasets.metabric(metabric_csv, table="data_x.txt")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"data_clinical_patient.txt": None}, r"no data_clinical_patient\.txt; it has data_clinical_sample\.txt"),
        ({"data_clinical_patient.txt": "PATIENT_ID\nMB-0000\n"}, r"data_clinical_patient\.txt lacks .*CLAUDIN_SUBTYPE"),
        ({"data_clinical_sample.txt": "#x\nSAMPLE_ID\nMB-0000\n"}, r"data_clinical_sample\.txt lacks .*PATIENT_ID"),
        (
            {"data_clinical_sample.txt": "PATIENT_ID\tSAMPLE_ID\nMB-0000\tA\nMB-0000\tA\n"},
            "data_clinical_sample.* more than once: A",
        ),
        (
            {"data_clinical_sample.txt": "PATIENT_ID\tSAMPLE_ID\nMB-0000\tA\n"},
            "none of the samples of .*MB-0005.*is in data_clinical_sample.txt .A",
        ),
        ({"data_mrna_illumina_microarray.txt": "GENE\tMB-0000\nMYC\t1\n"}, "must start with the column 'Hugo_Symbol'"),
        ({"data_mrna_illumina_microarray.txt": "Hugo_Symbol\tMB-0000\nMYC\tx\n"}, "microarray.txt cannot be .*'x'"),
        ({"data_mrna_illumina_microarray.txt": "Hugo_Symbol\tMB-0000\nMYC\t1\t2\n"}, "microarray.txt cannot be read"),
        ({"data_mrna_illumina_microarray.txt": "Hugo_Symbol\tA\tA\nMYC\t1\t2\n"}, "more than once: A"),
        ({"data_mrna_illumina_microarray.txt": "#only\n"}, "microarray.txt is empty"),
    ],
)
@pytest.mark.filterwarnings("ignore::pandas.errors.ParserWarning")  # must raise also where warnings do not
def test_metabric_bad_studies(changed: dict[str, str | None], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        datasets.metabric(write_study(tmp_path / "study", **changed))


def test_metabric_cut_archive(tmp_path: Path) -> None:
    noise = "".join(np.random.default_rng(0).choice(list("ACGT"), 50_000))
    folder = write_study(tmp_path / "study", **{"data_z.txt": noise})
    archive = tar_of(folder, tmp_path / "brca_metabric.tar.gz")
    archive.write_bytes(archive.read_bytes()[:-8000])
    with pytest.raises(ValueError, match=r"brca_metabric\.tar\.gz is not a whole archive"):
        datasets.metabric(archive)


# --- TCGA -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def tcga_csv(tmp_path: Path) -> Path:
    file = tmp_path / "tcga.csv.gz"
    tcga_frame().to_csv(file, index=False)
    return file


def test_tcga_table(tcga_csv: Path) -> None:
    adata = datasets.tcga_brca(tcga_csv)
    frame = tcga_frame()
    assert list(adata.obs_names) == list(frame["sample"])
    assert adata.obs_names.name is None
    assert list(adata.var_names) == list(bc._PAM50_GENES)
    np.testing.assert_array_equal(adata.X, frame[list(bc._PAM50_GENES)].to_numpy())
    assert list(adata.obs.columns) == ["subtype", "sample", "patient", "sample_type", "pam50"]
    assert list(adata.obs["subtype"].cat.categories) == ["normal tissue", "normal-like", "luminal B"]
    assert adata.obs["subtype"].astype(object).tolist() == [
        "luminal B",
        "normal-like",
        "normal tissue",
        np.nan,
        np.nan,
    ]


def test_tcga_sources_in_a_folder_are_like_the_table(tcga_csv: Path, tmp_path: Path) -> None:
    xena_files(tmp_path / "sources")
    same(datasets.tcga_brca(tcga_csv), datasets.tcga_brca(tmp_path / "sources"))
    packed = tmp_path / "sources" / bc.TCGA_EXPRESSION_FILE
    packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
    packed.unlink()
    same(datasets.tcga_brca(tcga_csv), datasets.tcga_brca(tmp_path / "sources"))
    (tmp_path / "sources" / bc.TCGA_PROBEMAP_FILE).unlink()
    with pytest.raises(FileNotFoundError, match=f"has no file {bc.TCGA_PROBEMAP_FILE}; it has"):
        datasets.tcga_brca(tmp_path / "sources")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (tcga_frame().drop(columns=["patient", "MKI67"]), r"lacks the column\(s\) patient, MKI67; it has sample"),
        (change(tcga_frame(), "sample_type", "Metastatic"), "sample_type Metastatic is not known; known are Primary"),
        (change(tcga_frame(), "pam50", "BRCA_LumA"), "subtype BRCA_LumA in column 'pam50' is not known"),
        (change(tcga_frame(), "sample", list("abcda")), "more than once: a$"),
        (change(tcga_frame(), "ESR1", ["x", 1, 2, 3, 4]), "something else: ESR1$"),
    ],
)
def test_tcga_bad_tables(frame: pd.DataFrame, message: str, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(ValueError, match=message):
        datasets.tcga_brca(tmp_path / "bad.csv")


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (bc.TCGA_EXPRESSION_FILE, "ENSG00000000042.3", "ENSG00000000042.9", "lacks 1 of the 50 PAM50 genes: PHGDH$"),
        (bc.TCGA_EXPRESSION_FILE, "-11B", "-10B", "no samples of Solid Tissue Normal"),
        (bc.TCGA_EXPRESSION_FILE, "-01", "-06", "more than once: TCGA-E9-A1N6-06A"),
        (bc.TCGA_PROBEMAP_FILE, "ORC6", "ORC6L", "probemap lacks 1 of the 50 PAM50 genes: ORC6$"),
        (bc.TCGA_PROBEMAP_FILE, "gene", "symbol", r"probemap lacks the column\(s\) gene"),
        (bc.TCGA_CLINICAL_FILE, "Subtype", "Other", r"lacks the column\(s\) Subtype; it has Study ID, Patient ID"),
        (bc.TCGA_CLINICAL_FILE, "TCGA-", "TCGB-", "no patient of .*TCGB-3C-AAAU.* is in "),
    ],
)
def test_tcga_bad_sources(name: str, old: str, new: str, message: str, tmp_path: Path) -> None:
    texts = xena_files(tmp_path / "sources")
    assert old in texts[name]
    write_xena(tmp_path / "sources", {name: texts[name].replace(old, new)})
    with pytest.raises(ValueError, match=message):
        datasets.tcga_brca(tmp_path / "sources")


# --- what holds for both ----------------------------------------------------------------------------------------------


def three(tmp_path: Path, metabric_csv: Path, tcga_csv: Path) -> dict[str, ad.AnnData]:
    return {
        "metabric": datasets.metabric(metabric_csv),
        "study": datasets.metabric(write_study(tmp_path / "study")),
        "tcga": datasets.tcga_brca(tcga_csv),
    }


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_round_trip(kind: str, tmp_path: Path, metabric_csv: Path, tcga_csv: Path) -> None:
    for name, adata in three(tmp_path, metabric_csv, tcga_csv).items():
        file = tmp_path / f"{name}.{kind}"
        if kind == "h5ad":
            adata.write_h5ad(file)
            same(adata, ad.read_h5ad(file))
        else:
            pytest.importorskip("zarr")
            adata.write_zarr(file)
            same(adata, ad.read_zarr(file))


def test_colors_follow_the_categories(tmp_path: Path, metabric_csv: Path, tcga_csv: Path) -> None:
    seen: dict[str, str] = {}
    for adata in three(tmp_path, metabric_csv, tcga_csv).values():
        categories = list(adata.obs["subtype"].cat.categories)
        assert len(adata.uns["subtype_colors"]) == len(categories) == adata.obs["subtype"].nunique()
        for word, color in zip(categories, adata.uns["subtype_colors"], strict=True):
            assert seen.setdefault(word, color) == color
    assert set(seen.values()) <= OKABE_ITO
    assert len(set(bc.SUBTYPE_COLORS.values())) == len(bc.SUBTYPE_COLORS)


# --- downloads --------------------------------------------------------------------------------------------------------


class Handler(SimpleHTTPRequestHandler):
    announce_more = 0

    def send_header(self, keyword: str, value: str) -> None:
        if keyword == "Content-Length":
            value = str(int(value) + self.announce_more)
        super().send_header(keyword, value)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server:
    def __init__(self, folder: Path) -> None:
        self.handler = type("OwnHandler", (Handler,), {})
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), partial(self.handler, directory=str(folder)))
        self.url = f"http://127.0.0.1:{self.http.server_port}/"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def stop(self) -> None:
        if self.thread.is_alive():
            self.http.shutdown()
            self.thread.join()
            self.http.server_close()


@pytest.fixture
def served(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    folder.mkdir()
    return folder


@pytest.fixture
def server(served: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    pytest.importorskip("pooch")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Server(served)
    monkeypatch.setattr(bc, "METABRIC_URL", server.url + "breast_cancer_dataset.zip")
    monkeypatch.setattr(bc, "XENA_URL", server.url)
    monkeypatch.setattr(bc, "TCGA_CLINICAL_URL", server.url)
    yield server
    server.stop()


@pytest.fixture
def served_metabric(served: Path, metabric_csv: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    content = metabric_csv.read_bytes()
    monkeypatch.setattr(bc, "METABRIC_MEMBER_SHA256", hashlib.sha256(content).hexdigest())
    return zip_of(content, served / "breast_cancer_dataset.zip")


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_metabric_download(server: Server, served_metabric: Path, metabric_csv: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    expected = datasets.metabric(metabric_csv)
    same(expected, datasets.metabric(cache_dir=cache, progress=False))
    server.stop()
    same(expected, datasets.metabric(cache_dir=str(cache), progress=False))
    assert list(datasets.metabric(cache_dir=cache, genes=["erbb2"]).var_names) == ["ERBB2"]


def test_tcga_download(server: Server, served: Path, tcga_csv: Path, tmp_path: Path) -> None:
    xena_files(served)
    expected = datasets.tcga_brca(tcga_csv)
    same(expected, datasets.tcga_brca(cache_dir=tmp_path / "cache", progress=False))
    server.stop()
    same(expected, datasets.tcga_brca(cache_dir=tmp_path / "cache", progress=False))


@pytest.mark.usefixtures("server", "served_metabric")
def test_progress_and_silence(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import pooch

    # its logger has a handler of its own, bound to the stream before capsys
    monkeypatch.setattr(pooch.get_logger(), "handlers", [caplog.handler])
    datasets.metabric(cache_dir=tmp_path / "silent", progress=False)
    assert capsys.readouterr() == ("", "")
    assert caplog.messages == []
    datasets.metabric(cache_dir=tmp_path / "loud", progress=True)
    assert "100%" in capsys.readouterr().err


@pytest.mark.usefixtures("server", "served_metabric")
def test_default_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "system" / name)
    datasets.metabric(progress=False)
    assert files_in(tmp_path / "system" / "skeltraj") == ["breast_cancer_dataset.zip"]


@pytest.mark.usefixtures("server")
def test_metabric_wrong_checksum(served_metabric: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = bc.METABRIC_MEMBER_SHA256
    monkeypatch.setattr(bc, "METABRIC_MEMBER_SHA256", "0" * 64)
    with pytest.raises(ValueError, match=f"SHA-256 {good}, wanted 0000.*Removed.*`path`"):
        datasets.metabric(cache_dir=tmp_path / "cache", progress=False)
    assert files_in(tmp_path / "cache") == []
    # nothing bad is left: the next call succeeds
    monkeypatch.setattr(bc, "METABRIC_MEMBER_SHA256", good)
    assert datasets.metabric(cache_dir=tmp_path / "cache", progress=False).n_obs == 5


@pytest.mark.usefixtures("server")
def test_metabric_not_a_zip(served_metabric: Path, tmp_path: Path) -> None:
    served_metabric.write_bytes(b"<html>an error page</html>")
    with pytest.raises(ValueError, match=r"not a whole zip file.*Removed"):
        datasets.metabric(cache_dir=tmp_path / "cache", progress=False)
    assert files_in(tmp_path / "cache") == []


@pytest.mark.usefixtures("served_metabric")
def test_truncated_download(server: Server, tmp_path: Path) -> None:
    server.handler.announce_more = 100
    with pytest.raises(OSError, match=r"could not download http://127.*dataset\.zip: .*`path`"):
        datasets.metabric(cache_dir=tmp_path / "cache", progress=False)
    assert files_in(tmp_path / "cache") == []


@pytest.mark.usefixtures("served_metabric")
def test_size_is_checked_without_help_of_the_http_library(
    server: Server, served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # older releases of urllib3 take a short body without complaint
    monkeypatch.setattr("urllib3.response.HTTPResponse._init_length", lambda *_: None)
    server.handler.announce_more = 100
    size = (served / "breast_cancer_dataset.zip").stat().st_size
    with pytest.raises(OSError, match=f"{size} bytes came, the server announced {size + 100}"):
        datasets.metabric(cache_dir=tmp_path / "cache", progress=False)
    assert files_in(tmp_path / "cache") == []


def test_tcga_bad_content_is_not_kept(server: Server, served: Path, tmp_path: Path) -> None:
    texts = xena_files(served)
    write_xena(served, {bc.TCGA_EXPRESSION_FILE: texts[bc.TCGA_EXPRESSION_FILE].replace("-11B", "-10B")})
    with pytest.raises(ValueError, match=r"no samples of Solid Tissue Normal.*Removed.*probemap"):
        datasets.tcga_brca(cache_dir=tmp_path / "cache", progress=False)
    assert files_in(tmp_path / "cache") == []


@pytest.mark.usefixtures("server")
def test_file_gone_from_the_server(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"could not download http://127\.0\.0\.1.*clinical_data\.tsv: 404 .*`path`"):
        datasets.tcga_brca(cache_dir=tmp_path / "cache", progress=False)


def test_no_server(server: Server, tmp_path: Path) -> None:
    server.stop()
    with pytest.raises(OSError, match=r"could not download http://127\.0\.0\.1.*dataset\.zip: .*`path`"):
        datasets.metabric(cache_dir=tmp_path / "cache", progress=False)
    assert files_in(tmp_path / "cache") == []


@pytest.mark.parametrize("package", ["pooch", "tqdm"])
@pytest.mark.usefixtures("server", "served_metabric")
def test_without_the_download_extra(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cached = datasets.metabric(cache_dir=tmp_path / "filled", progress=False)
    monkeypatch.setitem(sys.modules, package, None)
    same(cached, datasets.metabric(cache_dir=tmp_path / "filled"))
    with pytest.raises(ImportError, match=rf"'{package}': pip install 'skeltraj\[download\]'"):
        datasets.metabric(cache_dir=tmp_path / "cache", progress=True)


def test_addresses_are_pinned_where_they_can_be() -> None:
    assert "/f3c6753926d455c34ac13146610f286ba967d2a6/" in bc.METABRIC_URL
    assert "/0012c88aa81e24f1a54fb2b9d6091ae65e3c4525/" in bc.TCGA_CLINICAL_URL
    assert all(url.startswith("https://") for url in (bc.METABRIC_URL, bc.XENA_URL, bc.TCGA_CLINICAL_URL))


# --- the real tables --------------------------------------------------------------------------------------------------


def counts(adata: ad.AnnData) -> dict[str, int]:
    return adata.obs["subtype"].value_counts(sort=False).to_dict()


def test_real_metabric() -> None:
    adata = datasets.metabric(shared_file("metabric/METABRIC_RNA_Mutation.csv.gz"))
    assert adata.shape == (1904, 489)
    assert counts(adata) == {
        "normal-like": 140,
        "luminal A": 679,
        "luminal B": 461,
        "HER2": 220,
        "basal": 199,
        "claudin-low": 199,
    }
    assert list(adata.obs.columns) == ["subtype", *bc._METABRIC_CLINICAL]
    assert adata.obsm["mutations"].shape == (1904, 173)
    # cells other than "0", counted in the file
    assert adata.obsm["mutations"].to_numpy().sum() == 1904 * 173 - 319653
    assert adata.var_names.is_unique
    assert {"BRCA1", "HLA-G", "UGT2B7"} <= set(adata.var_names)
    # known from the clinical table of the cBioPortal study
    tumour = adata.obs.loc["MB-5474"]
    assert (tumour["age_at_diagnosis"], tumour["subtype"]) == (46.26, "claudin-low")


def test_real_metabric_is_the_table_of_the_checksum() -> None:
    file = shared_file("metabric/METABRIC_RNA_Mutation.csv.gz")
    assert hashlib.sha256(gzip.decompress(file.read_bytes())).hexdigest() == bc.METABRIC_MEMBER_SHA256


def test_real_tcga() -> None:
    adata = datasets.tcga_brca(shared_file("tcga_brca_pam50/tcga_brca_pam50_genes.csv.gz"))
    assert adata.shape == (1219, 50)
    assert counts(adata) == {
        "normal tissue": 113,
        "normal-like": 36,
        "luminal A": 504,
        "luminal B": 197,
        "HER2": 78,
        "basal": 176,
    }
    # the receptor is what tells luminal from basal tumours
    means = adata[:, "ESR1"].to_df()["ESR1"].groupby(adata.obs["subtype"], observed=True).mean()
    assert means["luminal A"] > means["basal"] + 3


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_real_round_trip(kind: str, tmp_path: Path) -> None:
    adata = datasets.metabric(shared_file("metabric/METABRIC_RNA_Mutation.csv.gz"))
    if kind == "h5ad":
        adata.write_h5ad(tmp_path / "a.h5ad")
        same(adata, ad.read_h5ad(tmp_path / "a.h5ad"))
    else:
        pytest.importorskip("zarr")
        adata.write_zarr(tmp_path / "a.zarr")
        same(adata, ad.read_zarr(tmp_path / "a.zarr"))
