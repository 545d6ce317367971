"""What holds for all cohorts: colours, round trips, missing files."""

from __future__ import annotations

import pytest

from cohort_files import round_trip
from skeltraj import datasets
from skeltraj.datasets._cohorts.annotate import SUBTYPE_COLORS

OKABE_ITO = {"#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"}


@pytest.mark.parametrize("loader", [datasets.metabric, datasets.tcga_brca])
def test_missing_file(loader, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"path='.*absent\.csv' does not exist; wanted a file or a folder\."):
        loader(tmp_path / "absent.csv")


@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_round_trip(kind, tmp_path, three):
    for adata in three:
        round_trip(adata, kind, tmp_path)


def test_colors_follow_the_categories(three):
    seen = {}
    for adata in three:
        categories = list(adata.obs["subtype"].cat.categories)
        assert len(adata.uns["subtype_colors"]) == len(categories) == adata.obs["subtype"].nunique()
        for word, color in zip(categories, adata.uns["subtype_colors"], strict=True):
            assert seen.setdefault(word, color) == color
    assert set(seen.values()) <= OKABE_ITO
    assert len(set(SUBTYPE_COLORS.values())) == len(SUBTYPE_COLORS)
