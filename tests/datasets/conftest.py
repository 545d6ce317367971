"""Small cohorts as files, and a server that has them."""

from __future__ import annotations

import hashlib

import pytest

from cohort_files import METABRIC, TCGA, write_study, zip_of
from local_server import Server
from skeltraj import datasets
from skeltraj.datasets import _metabric, _tcga_brca


@pytest.fixture
def metabric_csv(tmp_path):
    file = tmp_path / "table.csv"
    METABRIC.to_csv(file, index=False)
    return file


@pytest.fixture
def tcga_csv(tmp_path):
    file = tmp_path / "tcga.csv.gz"
    TCGA.to_csv(file, index=False)
    return file


@pytest.fixture
def three(tmp_path, metabric_csv, tcga_csv):
    study = write_study(tmp_path / "study")
    return [datasets.metabric(metabric_csv), datasets.metabric(study), datasets.tcga_brca(tcga_csv)]


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
