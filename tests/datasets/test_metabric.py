"""METABRIC as a table and as the files of its study."""

from __future__ import annotations

import gzip
import hashlib
import shutil

import numpy as np
import pytest

from cohort_files import (
    EXPRESSION,
    LABEL,
    METABRIC,
    PATIENTS,
    SAMPLES,
    STUDY,
    TUMOURS,
    ZSCORES,
    counts,
    round_trip,
    same_cohort,
    tar_of,
    write_study,
    zip_of,
)
from samples import shared
from skeltraj import datasets
from skeltraj.datasets import _metabric


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
    same_cohort(plain, datasets.metabric(packed))
    same_cohort(plain, datasets.metabric(zip_of(content, tmp_path / "a.zip")))
    same_cohort(plain, datasets.metabric(zip_of(gzip.compress(content), tmp_path / "b.zip", "other.csv.gz")))
    damaged = tmp_path / "cut.zip"
    damaged.write_bytes((tmp_path / "a.zip").read_bytes()[:-30])
    with pytest.raises(ValueError, match=r"cut\.zip cannot be read as a zip file: .*; wanted a whole one"):
        datasets.metabric(damaged)


def test_metabric_genes_in_the_order_asked_for(metabric_csv):
    adata = datasets.metabric(metabric_csv, genes=["ERBB2", "brca1"])
    assert list(adata.var_names) == ["ERBB2", "BRCA1"]
    np.testing.assert_array_equal(adata.X[:, 0], [5, 4, 3, 2, 1])
    with pytest.raises(ValueError, match=r"genes: \['NOPE'\] not in .*Available: \['BRCA1', 'HLA-G', 'ERBB2'\]\."):
        datasets.metabric(metabric_csv, genes=["ERBB2", "NOPE"])
    with pytest.raises(TypeError, match="genes='ERBB2' is a string; wanted a list"):
        datasets.metabric(metabric_csv, genes="ERBB2")
    with pytest.raises(TypeError, match=r"genes: 1 is a int; wanted names"):
        datasets.metabric(metabric_csv, genes=[1])
    with pytest.raises(ValueError, match="genes is an empty list; wanted at least one gene symbol"):
        datasets.metabric(metabric_csv, genes=[])


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (METABRIC.drop(columns="patient_id"), r"has no column\(s\) \['patient_id'\]\. Available: \['age_at_diagnosis'"),
        (
            METABRIC.drop(columns=["patient_id", LABEL]),
            r"has no column\(s\) \['patient_id', 'pam50_\+_claudin-low_subtype'\]\.",
        ),
        (METABRIC.drop(columns=["brca1", "hla-g", "erbb2"]), "no column with the expression"),
        (METABRIC.assign(**{LABEL: "LumC"}), r"has subtype\(s\) \['LumC'\]; wanted \['Normal', 'LumA'"),
        (METABRIC.assign(patient_id=[1, 2, 1, 3, 4]), r"\['1'\] more than once"),
        (METABRIC.assign(patient_id=[1, 2, None, 3, 4]), r"1 row\(s\) have no 'patient_id'; wanted one in each"),
        (METABRIC.assign(brca1=[1, 2, None, 3, 4]), r"column\(s\) \['brca1'\] hold gaps, or something else"),
        (METABRIC.assign(surprise=list("abcde")), r"column\(s\) \['surprise'\] hold gaps, or something else"),
        (METABRIC.assign(BRCA1=1.0), r"\['BRCA1'\] more than once"),
    ],
)
def test_metabric_bad_tables(frame, message, tmp_path):
    frame.to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(ValueError, match=message) as caught:
        datasets.metabric(tmp_path / "bad.csv")
    assert "bad.csv" in str(caught.value)


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
    same_cohort(expected, datasets.metabric(tar_of(folder, tmp_path / "brca_metabric.tar.gz")))
    # the folder around it, and tables that were compressed one by one
    (tmp_path / "outer").mkdir()
    inner = shutil.copytree(folder, tmp_path / "outer" / "brca_metabric")
    table = inner / EXPRESSION
    (inner / "data_mrna_illumina_microarray.txt.gz").write_bytes(gzip.compress(table.read_bytes()))
    table.unlink()
    same_cohort(expected, datasets.metabric(tmp_path / "outer"))


def test_byte_order_mark_is_no_part_of_the_table(tmp_path, metabric_csv):
    marked = tmp_path / "marked.csv"
    marked.write_bytes(b"\xef\xbb\xbf" + metabric_csv.read_bytes())
    same_cohort(datasets.metabric(metabric_csv), datasets.metabric(marked))
    folder = write_study(tmp_path / "marked", **{name: "\ufeff" + STUDY[name] for name in STUDY})
    same_cohort(datasets.metabric(write_study(tmp_path / "study")), datasets.metabric(folder))


def test_metabric_study_genes(tmp_path):
    folder = write_study(tmp_path / "study")
    adata = datasets.metabric(folder, genes=["MYC", "c1ORF112"])
    same_cohort(adata, datasets.metabric(folder)[:, ["MYC", "C1orf112"]].copy())
    with pytest.raises(ValueError, match=r"genes: \['NOPE', 'EMPTY1'\] not in .*Available: \['MYC'\]\."):
        datasets.metabric(folder, genes=["NOPE", "MYC", "EMPTY1"])
    with pytest.raises(ValueError, match=r"genes: \['NOPE'\] not in .*Available: \[\]\."):
        datasets.metabric(folder, genes=["NOPE"])


def test_metabric_study_tables(tmp_path, metabric_csv):
    folder = write_study(tmp_path / "study")
    adata = datasets.metabric(folder, table=ZSCORES)
    np.testing.assert_array_equal(adata.X, [[-1.5], [1.5]])
    assert adata.uns["source"].endswith(ZSCORES)
    (folder / EXPRESSION).rename(folder / "data_expression_median.txt")
    assert datasets.metabric(folder).n_obs == 4
    (folder / "data_expression_median.txt").unlink()
    same_cohort(adata, datasets.metabric(folder))
    with pytest.raises(ValueError, match=r"table='data_x\.txt' is not in .*Available: \['data_clinical_patient\.txt'"):
        datasets.metabric(folder, table="data_x.txt")
    with pytest.raises(
        ValueError, match=r"table='data_x\.txt' names a file of the cBioPortal study, which path=.*table\.csv is not"
    ):
        datasets.metabric(metabric_csv, table="data_x.txt")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({PATIENTS: None}, r"no data_clinical_patient\.txt\. Available: \['data_clinical_sample\.txt'"),
        ({PATIENTS: "PATIENT_ID\nMB-0000\n"}, r"data_clinical_patient\.txt has no column\(s\) \['CLAUDIN_SUBTYPE'\]"),
        ({SAMPLES: "#x\nSAMPLE_ID\nMB-0000\n"}, r"data_clinical_sample\.txt has no column\(s\) \['PATIENT_ID'\]"),
        (
            {SAMPLES: "PATIENT_ID\tSAMPLE_ID\nMB-0000\tA\nMB-0000\tA\n"},
            r"data_clinical_sample.*: \['A'\] more than once",
        ),
        (
            {SAMPLES: "PATIENT_ID\tSAMPLE_ID\nMB-0000\tA\n"},
            rf"has the samples \['MB-0005'.*none of which is in {SAMPLES}; wanted some of \['A'\]\.",
        ),
        (
            {EXPRESSION: "GENE\tMB-0000\nMYC\t1\n"},
            r"has the columns \['GENE', 'MB-0000'\]; wanted the column 'Hugo_Symbol' first",
        ),
        ({EXPRESSION: "Hugo_Symbol\tMB-0000\nMYC\tx\n"}, "microarray.txt cannot be .*'x'"),
        ({EXPRESSION: "Hugo_Symbol\tMB-0000\nMYC\t1\t2\n"}, "microarray.txt cannot be read"),
        ({EXPRESSION: "Hugo_Symbol\tA\tA\nMYC\t1\t2\n"}, r"\['A'\] more than once"),
        ({EXPRESSION: "#only\n"}, "microarray.txt is empty"),
        (
            {EXPRESSION: None, ZSCORES: None},
            rf"has no expression table; wanted one of \['{EXPRESSION}', .*"
            rf"Available: \['{PATIENTS}', '{SAMPLES}', 'meta",
        ),
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
    with pytest.raises(
        ValueError, match=r"brca_metabric\.tar\.gz cannot be read as an archive: .*; wanted a whole one"
    ):
        datasets.metabric(archive)


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


@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_real_round_trip(kind, tmp_path):
    adata = datasets.metabric(shared("data/metabric/METABRIC_RNA_Mutation.csv.gz"))
    round_trip(adata, kind, tmp_path)
