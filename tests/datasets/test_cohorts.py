import gzip
import hashlib
import shutil
import sys
import tarfile
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import anndata as ad
import numpy as np
import pandas as pd
import pytest

from samples import shared
from skeltraj import datasets
from skeltraj.datasets import _cohort, _metabric, _tcga_brca

LABEL = _metabric.LABEL_COLUMN
PATIENTS, SAMPLES = "data_clinical_patient.txt", "data_clinical_sample.txt"
EXPRESSION = "data_mrna_illumina_microarray.txt"
ZSCORES = "data_mrna_illumina_microarray_zscores_ref_diploid_samples.txt"
OKABE_ITO = {"#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"}


def same(a, b):
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


def round_trip(adata, kind, file):
    if kind == "zarr":
        pytest.importorskip("zarr")
    getattr(adata, f"write_{kind}")(file)
    same(adata, getattr(ad, f"read_{kind}")(file))


# --- small tables in the formats of the sources -----------------------------------------------------------------------

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


# --- METABRIC: the table ----------------------------------------------------------------------------------------------


@pytest.fixture
def metabric_csv(tmp_path):
    file = tmp_path / "table.csv"
    METABRIC.to_csv(file, index=False)
    return file


def test_metabric_table(metabric_csv):
    adata = datasets.metabric(metabric_csv)
    assert list(adata.obs_names) == ["MB-0000", "MB-0002", "MB-0014", "MB-5300", "MB-7299"]
    assert list(adata.var_names) == ["BRCA1", "HLA-G", "ERBB2"]
    assert adata.X.dtype == np.float64
    np.testing.assert_array_equal(adata.X, METABRIC[["brca1", "hla-g", "erbb2"]].to_numpy())
    subtype = adata.obs["subtype"]
    assert list(subtype.cat.categories) == ["normal-like", "luminal A", "basal", "claudin-low"]
    assert subtype.astype(object).tolist() == ["claudin-low", "normal-like", "basal", np.nan, "luminal A"]
    assert "brca_metabric" in adata.uns["source"]


def test_metabric_clinical_columns_are_tidy(metabric_csv):
    obs = datasets.metabric(metabric_csv).obs
    clinical = [c for c in METABRIC.columns if c in _metabric.CLINICAL_COLUMNS]
    assert list(obs.columns) == ["subtype", *clinical]
    numbers = {c for c in clinical if obs[c].dtype == np.float64}
    assert numbers == {"age_at_diagnosis", "chemotherapy", "tumor_stage"}
    assert all(obs[c].dtype == "category" for c in set(clinical) - numbers)
    # codes of a classification stay codes even where all of them are digits
    assert list(obs["integrative_cluster"]) == ["3", "10", "8", "9", "3"]
    assert obs["cellularity"].isna().tolist() == [True, False, False, False, False]
    assert obs[LABEL].tolist()[3] == "NC"


def test_metabric_mutations(metabric_csv):
    mutations = datasets.metabric(metabric_csv).obsm["mutations"]
    assert list(mutations.columns) == ["TP53", "NRAS"]
    assert mutations.dtypes.tolist() == [bool, bool]
    assert mutations["TP53"].tolist() == [False, True, False, True, False]
    assert not mutations["NRAS"].any()


def test_metabric_table_in_any_wrapping(metabric_csv, tmp_path):
    plain = datasets.metabric(str(metabric_csv))
    content = metabric_csv.read_bytes()
    packed = tmp_path / "table.csv.gz"
    packed.write_bytes(gzip.compress(content))
    same(plain, datasets.metabric(packed))
    same(plain, datasets.metabric(zip_of(content, tmp_path / "a.zip")))
    same(plain, datasets.metabric(zip_of(gzip.compress(content), tmp_path / "b.zip", "other.csv.gz")))


def test_metabric_genes_in_the_order_asked_for(metabric_csv):
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
def test_missing_file(loader, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"does not exist: .*absent\.csv"):
        loader(tmp_path / "absent.csv")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (METABRIC.drop(columns="patient_id"), r"lacks the column\(s\) patient_id; it has age_at_diagnosis"),
        (
            METABRIC.drop(columns=["patient_id", LABEL]),
            r"lacks the column\(s\) patient_id, pam50_\+_claudin-low_subtype",
        ),
        (METABRIC.drop(columns=["brca1", "hla-g", "erbb2"]), "no column with the expression"),
        (METABRIC.assign(**{LABEL: "LumC"}), "subtype LumC .* known are Normal, LumA"),
        (METABRIC.assign(patient_id=[1, 2, 1, 3, 4]), "more than once: 1$"),
        (METABRIC.assign(patient_id=[1, 2, None, 3, 4]), "without a value for 'patient_id'"),
        (METABRIC.assign(brca1=[1, 2, None, 3, 4]), r"column\(s\) with something else: brca1$"),
        (METABRIC.assign(surprise=list("abcde")), r"column\(s\) with something else: surprise$"),
        (METABRIC.assign(BRCA1=1.0), "more than once: BRCA1$"),
    ],
)
def test_metabric_bad_tables(frame, message, tmp_path):
    frame.to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(ValueError, match=message) as caught:
        datasets.metabric(tmp_path / "bad.csv")
    assert "bad.csv" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv.gz", gzip.compress(METABRIC.to_csv().encode(), mtime=0)[:-20], r"a\.csv\.gz cannot be read as a table"),
        ("a.csv", b"", r"a\.csv is empty"),
        ("a.csv", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "Git LFS pointer"),
    ],
    ids=["cut short", "empty", "Git LFS pointer"],
)
def test_unreadable_files(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        datasets.metabric(tmp_path / name)


def test_zip_with_two_tables(tmp_path):
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as file:
        file.writestr("a.csv", "")
        file.writestr("b.csv", "")
    with pytest.raises(ValueError, match=r"must hold one \.csv table.* it holds a\.csv, b\.csv"):
        datasets.metabric(tmp_path / "two.zip")


# --- METABRIC: the study files ----------------------------------------------------------------------------------------


def test_metabric_study(tmp_path):
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
    assert adata.uns["source"].endswith(EXPRESSION)
    assert "mutations" not in adata.obsm


def test_metabric_study_archive_is_like_its_folder(tmp_path):
    folder = write_study(tmp_path / "study")
    expected = datasets.metabric(folder)
    same(expected, datasets.metabric(tar_of(folder, tmp_path / "brca_metabric.tar.gz")))
    # the folder around it, and tables that were compressed one by one
    (tmp_path / "outer").mkdir()
    inner = shutil.copytree(folder, tmp_path / "outer" / "brca_metabric")
    table = inner / EXPRESSION
    (inner / "data_mrna_illumina_microarray.txt.gz").write_bytes(gzip.compress(table.read_bytes()))
    table.unlink()
    same(expected, datasets.metabric(tmp_path / "outer"))


def test_byte_order_mark_is_no_part_of_the_table(tmp_path, metabric_csv):
    marked = tmp_path / "marked.csv"
    marked.write_bytes(b"\xef\xbb\xbf" + metabric_csv.read_bytes())
    same(datasets.metabric(metabric_csv), datasets.metabric(marked))
    folder = write_study(tmp_path / "marked", **{name: "\ufeff" + STUDY[name] for name in STUDY})
    same(datasets.metabric(write_study(tmp_path / "study")), datasets.metabric(folder))


def test_metabric_study_genes(tmp_path):
    folder = write_study(tmp_path / "study")
    adata = datasets.metabric(folder, genes=["MYC", "c1ORF112"])
    same(adata, datasets.metabric(folder)[:, ["MYC", "C1orf112"]].copy())
    with pytest.raises(ValueError, match=r"gene\(s\) NOPE, EMPTY1; genes found there: MYC"):
        datasets.metabric(folder, genes=["NOPE", "MYC", "EMPTY1"])
    with pytest.raises(ValueError, match=r"gene\(s\) NOPE; genes found there: nothing"):
        datasets.metabric(folder, genes=["NOPE"])


def test_metabric_study_tables(tmp_path, metabric_csv):
    folder = write_study(tmp_path / "study")
    adata = datasets.metabric(folder, table=ZSCORES)
    np.testing.assert_array_equal(adata.X, [[-1.5], [1.5]])
    assert adata.uns["source"].endswith(ZSCORES)
    (folder / EXPRESSION).rename(folder / "data_expression_median.txt")
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
        ({PATIENTS: None}, r"no data_clinical_patient\.txt; it has data_clinical_sample\.txt"),
        ({PATIENTS: "PATIENT_ID\nMB-0000\n"}, r"data_clinical_patient\.txt lacks .*CLAUDIN_SUBTYPE"),
        ({SAMPLES: "#x\nSAMPLE_ID\nMB-0000\n"}, r"data_clinical_sample\.txt lacks .*PATIENT_ID"),
        ({SAMPLES: "PATIENT_ID\tSAMPLE_ID\nMB-0000\tA\nMB-0000\tA\n"}, "data_clinical_sample.* more than once: A"),
        ({SAMPLES: "PATIENT_ID\tSAMPLE_ID\nMB-0000\tA\n"}, f"none of the samples of .*MB-0005.*is in {SAMPLES} .A"),
        ({EXPRESSION: "GENE\tMB-0000\nMYC\t1\n"}, "must start with the column 'Hugo_Symbol'"),
        ({EXPRESSION: "Hugo_Symbol\tMB-0000\nMYC\tx\n"}, "microarray.txt cannot be .*'x'"),
        ({EXPRESSION: "Hugo_Symbol\tMB-0000\nMYC\t1\t2\n"}, "microarray.txt cannot be read"),
        ({EXPRESSION: "Hugo_Symbol\tA\tA\nMYC\t1\t2\n"}, "more than once: A"),
        ({EXPRESSION: "#only\n"}, "microarray.txt is empty"),
    ],
)
@pytest.mark.filterwarnings("ignore::pandas.errors.ParserWarning")  # must raise also where warnings do not
def test_metabric_bad_studies(changed, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        datasets.metabric(write_study(tmp_path / "study", **changed))


def test_metabric_cut_archive(tmp_path):
    noise = "".join(np.random.default_rng(0).choice(list("ACGT"), 50_000))
    folder = write_study(tmp_path / "study", **{"data_z.txt": noise})
    archive = tar_of(folder, tmp_path / "brca_metabric.tar.gz")
    archive.write_bytes(archive.read_bytes()[:-8000])
    with pytest.raises(ValueError, match=r"brca_metabric\.tar\.gz is not a whole archive"):
        datasets.metabric(archive)


# --- TCGA -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def tcga_csv(tmp_path):
    file = tmp_path / "tcga.csv.gz"
    TCGA.to_csv(file, index=False)
    return file


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
    same(datasets.tcga_brca(tcga_csv), datasets.tcga_brca(tmp_path / "sources"))
    packed = tmp_path / "sources" / _tcga_brca.EXPRESSION_FILE
    packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
    packed.unlink()
    same(datasets.tcga_brca(tcga_csv), datasets.tcga_brca(tmp_path / "sources"))
    (tmp_path / "sources" / _tcga_brca.PROBEMAP_FILE).unlink()
    with pytest.raises(FileNotFoundError, match=f"has no file {_tcga_brca.PROBEMAP_FILE}; it has"):
        datasets.tcga_brca(tmp_path / "sources")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (TCGA.drop(columns=["patient", "MKI67"]), r"lacks the column\(s\) patient, MKI67; it has sample"),
        (TCGA.assign(sample_type="Metastatic"), "sample_type Metastatic is not known; known are Primary"),
        (TCGA.assign(pam50="BRCA_LumA"), "subtype BRCA_LumA in column 'pam50' is not known"),
        (TCGA.assign(sample=list("abcda")), "more than once: a$"),
        (TCGA.assign(ESR1=["x", 1, 2, 3, 4]), "something else: ESR1$"),
    ],
)
def test_tcga_bad_tables(frame, message, tmp_path):
    frame.to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(ValueError, match=message):
        datasets.tcga_brca(tmp_path / "bad.csv")


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (_tcga_brca.EXPRESSION_FILE, "ENSG00000000042.3", "ENSG00000000042.9", "lacks 1 of the 50 PAM50 genes: PHGDH$"),
        (_tcga_brca.EXPRESSION_FILE, "-11B", "-10B", "no samples of Solid Tissue Normal"),
        (_tcga_brca.EXPRESSION_FILE, "-01", "-06", "more than once: TCGA-E9-A1N6-06A"),
        (_tcga_brca.PROBEMAP_FILE, "ORC6", "ORC6L", "probemap lacks 1 of the 50 PAM50 genes: ORC6$"),
        (_tcga_brca.PROBEMAP_FILE, "gene", "symbol", r"probemap lacks the column\(s\) gene"),
        (_tcga_brca.CLINICAL_FILE, "Subtype", "Other", r"lacks the column\(s\) Subtype; it has Study ID, Patient ID"),
        (_tcga_brca.CLINICAL_FILE, "TCGA-", "TCGB-", "no patient of .*TCGB-3C-AAAU.* is in "),
    ],
)
def test_tcga_bad_sources(name, old, new, message, tmp_path):
    xena_files(tmp_path / "sources", name, old, new)
    with pytest.raises(ValueError, match=message):
        datasets.tcga_brca(tmp_path / "sources")


# --- what holds for both ----------------------------------------------------------------------------------------------


@pytest.fixture
def three(tmp_path, metabric_csv, tcga_csv):
    study = write_study(tmp_path / "study")
    return [datasets.metabric(metabric_csv), datasets.metabric(study), datasets.tcga_brca(tcga_csv)]


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_round_trip(kind, tmp_path, three):
    for i, adata in enumerate(three):
        round_trip(adata, kind, tmp_path / f"{i}.{kind}")


def test_colors_follow_the_categories(three):
    seen = {}
    for adata in three:
        categories = list(adata.obs["subtype"].cat.categories)
        assert len(adata.uns["subtype_colors"]) == len(categories) == adata.obs["subtype"].nunique()
        for word, color in zip(categories, adata.uns["subtype_colors"], strict=True):
            assert seen.setdefault(word, color) == color
    assert set(seen.values()) <= OKABE_ITO
    assert len(set(_cohort.SUBTYPE_COLORS.values())) == len(_cohort.SUBTYPE_COLORS)


# --- downloads --------------------------------------------------------------------------------------------------------


class Handler(SimpleHTTPRequestHandler):
    announce_more = 0

    def send_header(self, keyword, value):
        if keyword == "Content-Length":
            value = str(int(value) + self.announce_more)
        super().send_header(keyword, value)

    def log_message(self, format, *args):
        pass


class Server:
    def __init__(self, folder):
        self.folder = folder
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self.url = f"http://127.0.0.1:{self.http.server_port}/"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def stop(self):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def server(tmp_path_factory, monkeypatch):
    pytest.importorskip("pooch")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Server(tmp_path_factory.mktemp("served"))
    monkeypatch.setattr(_metabric, "METABRIC_URL", server.url + "breast_cancer_dataset.zip")
    monkeypatch.setattr(_tcga_brca, "XENA_URL", server.url)
    monkeypatch.setattr(_tcga_brca, "CLINICAL_URL", server.url)
    yield server
    server.stop()


@pytest.fixture
def served_metabric(server, metabric_csv, monkeypatch):
    content = metabric_csv.read_bytes()
    monkeypatch.setattr(_metabric, "METABRIC_MEMBER_SHA256", hashlib.sha256(content).hexdigest())
    return zip_of(content, server.folder / "breast_cancer_dataset.zip")


def fails(loader, message, folder, error=OSError):
    """Fail unless the download raises and leaves nothing behind."""
    with pytest.raises(error, match=message):
        loader(cache_dir=folder / "cache", progress=False)
    assert files_in(folder / "cache") == []


def files_in(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_metabric_download(server, served_metabric, metabric_csv, tmp_path):
    cache = tmp_path / "cache"
    expected = datasets.metabric(metabric_csv)
    same(expected, datasets.metabric(cache_dir=cache, progress=False))
    server.stop()
    same(expected, datasets.metabric(cache_dir=str(cache), progress=False))
    assert list(datasets.metabric(cache_dir=cache, genes=["erbb2"]).var_names) == ["ERBB2"]


def test_tcga_download(server, tcga_csv, tmp_path):
    xena_files(server.folder)
    expected = datasets.tcga_brca(tcga_csv)
    same(expected, datasets.tcga_brca(cache_dir=tmp_path / "cache", progress=False))
    server.stop()
    same(expected, datasets.tcga_brca(cache_dir=tmp_path / "cache", progress=False))


@pytest.mark.usefixtures("served_metabric")
def test_progress_and_silence(tmp_path, capsys, caplog, monkeypatch):
    import pooch

    # its logger has a handler of its own, bound to the stream before capsys
    monkeypatch.setattr(pooch.get_logger(), "handlers", [caplog.handler])
    datasets.metabric(cache_dir=tmp_path / "silent", progress=False)
    assert capsys.readouterr() == ("", "")
    assert caplog.messages == []
    datasets.metabric(cache_dir=tmp_path / "loud", progress=True)
    assert "100%" in capsys.readouterr().err


@pytest.mark.usefixtures("served_metabric")
def test_default_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "system" / name)
    datasets.metabric(progress=False)
    assert files_in(tmp_path / "system" / "skeltraj") == ["breast_cancer_dataset.zip"]


def test_metabric_wrong_checksum(served_metabric, tmp_path, monkeypatch):
    good = _metabric.METABRIC_MEMBER_SHA256
    monkeypatch.setattr(_metabric, "METABRIC_MEMBER_SHA256", "0" * 64)
    fails(datasets.metabric, f"SHA-256 {good}, wanted 0000.*Removed.*`path`", tmp_path, ValueError)
    # nothing bad is left: the next call succeeds
    monkeypatch.setattr(_metabric, "METABRIC_MEMBER_SHA256", good)
    assert datasets.metabric(cache_dir=tmp_path / "cache", progress=False).n_obs == 5


def test_metabric_not_a_zip(served_metabric, tmp_path):
    served_metabric.write_bytes(b"<html>an error page</html>")
    fails(datasets.metabric, r"not a whole zip file.*Removed", tmp_path, ValueError)


@pytest.mark.parametrize("told_by_urllib3", [True, False])
def test_truncated_download(told_by_urllib3, served_metabric, tmp_path, monkeypatch):
    monkeypatch.setattr(Handler, "announce_more", 100)
    reason = ""
    if not told_by_urllib3:  # older releases take a short body without complaint
        monkeypatch.setattr("urllib3.response.HTTPResponse._init_length", lambda *_: None)
        size = served_metabric.stat().st_size
        reason = f"{size} bytes came, the server announced {size + 100}"
    fails(datasets.metabric, rf"could not download http://127.*dataset\.zip: .*{reason}.*`path`", tmp_path)


def test_tcga_bad_content_is_not_kept(server, tmp_path):
    xena_files(server.folder, _tcga_brca.EXPRESSION_FILE, "-11B", "-10B")
    fails(datasets.tcga_brca, r"no samples of Solid Tissue Normal.*Removed.*probemap", tmp_path, ValueError)


@pytest.mark.usefixtures("server")
def test_file_gone_from_the_server(tmp_path):
    fails(datasets.tcga_brca, r"could not download http://127.*clinical_data\.tsv: 404 .*`path`", tmp_path)


def test_no_server(server, tmp_path):
    server.stop()
    fails(datasets.metabric, r"could not download http://127\.0\.0\.1.*dataset\.zip: .*`path`", tmp_path)


@pytest.mark.parametrize("package", ["pooch", "tqdm"])
@pytest.mark.usefixtures("served_metabric")
def test_without_the_download_extra(package, tmp_path, monkeypatch):
    cached = datasets.metabric(cache_dir=tmp_path / "filled", progress=False)
    monkeypatch.setitem(sys.modules, package, None)
    same(cached, datasets.metabric(cache_dir=tmp_path / "filled"))
    with pytest.raises(ImportError, match=rf"'{package}': python -m pip install pooch tqdm"):
        datasets.metabric(cache_dir=tmp_path / "cache", progress=True)


def test_addresses_are_pinned_where_they_can_be():
    assert "/f3c6753926d455c34ac13146610f286ba967d2a6/" in _metabric.METABRIC_URL
    assert "/0012c88aa81e24f1a54fb2b9d6091ae65e3c4525/" in _tcga_brca.CLINICAL_URL
    for url in (_metabric.METABRIC_URL, _tcga_brca.XENA_URL, _tcga_brca.CLINICAL_URL):
        assert url.startswith("https://")


# --- the real tables --------------------------------------------------------------------------------------------------

TUMOURS = ["normal-like", "luminal A", "luminal B", "HER2", "basal"]


def counts(adata):
    return adata.obs["subtype"].value_counts(sort=False).to_dict()


def test_real_metabric():
    file = shared("data/metabric/METABRIC_RNA_Mutation.csv.gz")
    assert hashlib.sha256(gzip.decompress(file.read_bytes())).hexdigest() == _metabric.METABRIC_MEMBER_SHA256
    adata = datasets.metabric(file)
    assert adata.shape == (1904, 489)
    assert counts(adata) == dict(zip([*TUMOURS, "claudin-low"], [140, 679, 461, 220, 199, 199], strict=True))
    assert list(adata.obs.columns) == ["subtype", *_metabric.CLINICAL_COLUMNS]
    assert adata.obsm["mutations"].shape == (1904, 173)
    # cells other than "0", counted in the file
    assert adata.obsm["mutations"].to_numpy().sum() == 1904 * 173 - 319653
    assert adata.var_names.is_unique
    assert {"BRCA1", "HLA-G", "UGT2B7"} <= set(adata.var_names)
    # known from the clinical table of the cBioPortal study
    tumour = adata.obs.loc["MB-5474"]
    assert (tumour["age_at_diagnosis"], tumour["subtype"]) == (46.26, "claudin-low")


def test_real_tcga():
    adata = datasets.tcga_brca(shared("data/tcga_brca_pam50/tcga_brca_pam50_genes.csv.gz"))
    assert adata.shape == (1219, 50)
    assert counts(adata) == dict(zip(["normal tissue", *TUMOURS], [113, 36, 504, 197, 78, 176], strict=True))
    # the receptor is what tells luminal from basal tumours
    means = adata[:, "ESR1"].to_df()["ESR1"].groupby(adata.obs["subtype"], observed=True).mean()
    assert means["luminal A"] > means["basal"] + 3


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_real_round_trip(kind, tmp_path):
    adata = datasets.metabric(shared("data/metabric/METABRIC_RNA_Mutation.csv.gz"))
    round_trip(adata, kind, tmp_path / f"a.{kind}")
