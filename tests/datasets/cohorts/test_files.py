"""Downloads: kept, checked, refused, and without the packages that they need."""

from __future__ import annotations

import sys

import pytest

from cohort_files import same_cohort, xena_files
from local_server import Handler
from skeltraj import datasets
from skeltraj.datasets import _metabric, _tcga_brca


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
    same_cohort(expected, datasets.metabric(cache_dir=cache, progress=False))
    server.stop()
    same_cohort(expected, datasets.metabric(cache_dir=str(cache), progress=False))
    assert list(datasets.metabric(cache_dir=cache, genes=["erbb2"]).var_names) == ["ERBB2"]


def test_tcga_download(server, tcga_csv, tmp_path):
    xena_files(server.folder)
    expected = datasets.tcga_brca(tcga_csv)
    same_cohort(expected, datasets.tcga_brca(cache_dir=tmp_path / "cache", progress=False))
    server.stop()
    same_cohort(expected, datasets.tcga_brca(cache_dir=tmp_path / "cache", progress=False))


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
    assert files_in(tmp_path / "system" / "skeltraj") == [
        "breast_cancer_dataset.zip",
        "breast_cancer_dataset.zip.sha256",
    ]


def test_metabric_wrong_checksum(served_metabric, tmp_path, monkeypatch):
    good = _metabric.METABRIC_MEMBER_SHA256
    monkeypatch.setattr(_metabric, "METABRIC_MEMBER_SHA256", "0" * 64)
    fails(datasets.metabric, f"SHA-256 {good}; wanted 0000.*Removed.*`path`", tmp_path, ValueError)
    # nothing bad is left: the next call succeeds
    monkeypatch.setattr(_metabric, "METABRIC_MEMBER_SHA256", good)
    assert datasets.metabric(cache_dir=tmp_path / "cache", progress=False).n_obs == 5


def test_metabric_not_a_zip(served_metabric, tmp_path):
    served_metabric.write_bytes(b"<html>an error page</html>")
    fails(datasets.metabric, r"cannot be read as a zip file.*Removed", tmp_path, ValueError)


def test_truncated_download(served_metabric, tmp_path, monkeypatch):
    monkeypatch.setattr(Handler, "announce_more", 100)
    size = served_metabric.stat().st_size
    reason = rf"IncompleteRead\({size} bytes read, 100 more expected\)"
    fails(
        datasets.metabric,
        rf"could not download http://127.*dataset\.zip: .*{reason}.*path=: the table METABRIC",
        tmp_path,
    )


@pytest.mark.parametrize("changed", [_tcga_brca.CLINICAL_FILE, _tcga_brca.PROBEMAP_FILE, _tcga_brca.EXPRESSION_FILE])
def test_a_copy_that_has_changed_is_refused_and_left(changed, server, tmp_path):
    xena_files(server.folder)
    load = lambda: datasets.tcga_brca(cache_dir=tmp_path, progress=False)
    first = load()
    copy = tmp_path / "tcga_brca" / changed
    content = copy.read_bytes()
    copy.write_bytes(content + b" ")
    with pytest.raises(
        ValueError, match=rf"{changed} has SHA-256 [0-9a-f]{{64}}; as downloaded from http://127.*Remove it"
    ):
        load()
    assert copy.read_bytes() == content + b" "
    copy.unlink()
    same_cohort(first, load())  # fetched anew, with a checksum of its own
    copy.write_bytes(content + b" ")
    copy.with_name(changed + ".sha256").unlink()  # as a copy that was put there by hand
    copy.write_bytes(content)
    same_cohort(first, load())


def test_tcga_bad_content_is_not_kept(server, tmp_path):
    xena_files(server.folder, _tcga_brca.EXPRESSION_FILE, "-11B", "-10B")
    fails(datasets.tcga_brca, r"none of Solid Tissue Normal.*Removed.*probemap", tmp_path, ValueError)


@pytest.mark.usefixtures("server")
def test_file_gone_from_the_server(tmp_path):
    fails(
        datasets.tcga_brca,
        r"could not download http://127.*clinical_data\.tsv: 404 .*path=: a folder with .*, or one table",
        tmp_path,
    )


def test_no_server(server, tmp_path):
    server.stop()
    fails(
        datasets.metabric,
        r"could not download http://127\.0\.0\.1.*dataset\.zip: .*Without a connection, give path=: the table",
        tmp_path,
    )


def test_a_full_disk(served_metabric, tmp_path):
    resource = pytest.importorskip("resource", reason="this system sets no limits")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        fails(datasets.metabric, r"cache.* has no room for http://127.*; give another folder as cache_dir", tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("package", ["pooch", "tqdm"])
@pytest.mark.usefixtures("served_metabric")
def test_without_the_download_extra(package, tmp_path, monkeypatch):
    cached = datasets.metabric(cache_dir=tmp_path / "filled", progress=False)
    monkeypatch.setitem(sys.modules, package, None)
    same_cohort(cached, datasets.metabric(cache_dir=tmp_path / "filled"))
    with pytest.raises(ImportError, match=rf"needs the {package} package; install it with .*skeltraj\[download\]"):
        datasets.metabric(cache_dir=tmp_path / "cache", progress=True)


def test_addresses_are_pinned_where_they_can_be():
    assert "/f3c6753926d455c34ac13146610f286ba967d2a6/" in _metabric.METABRIC_URL
    assert "/0012c88aa81e24f1a54fb2b9d6091ae65e3c4525/" in _tcga_brca.CLINICAL_URL
    for url in (_metabric.METABRIC_URL, _tcga_brca.XENA_URL, _tcga_brca.CLINICAL_URL):
        assert url.startswith("https://")
