"""Files that cannot be read as a table, and messages that name what one holds."""

from __future__ import annotations

import gzip
import zipfile

import pytest

from cohort_files import METABRIC
from skeltraj import datasets
from skeltraj.datasets._cohorts.tables import listed


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
    with pytest.raises(ValueError, match=r"holds \['a\.csv', 'b\.csv'\]; wanted one \.csv table"):
        datasets.metabric(tmp_path / "two.zip")


def test_long_lists_are_cut_short():
    assert listed([]) == "[]"
    assert listed({"b", "a"}) == "['a', 'b']"
    assert listed(range(8)) == str([str(i) for i in range(8)])
    assert listed(range(10)) == f"{[str(i) for i in range(8)]} and 2 more"
