"""The command line as a whole."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading

import anndata as ad
import pytest

from skeltraj._cli import fit
from skeltraj._cli.main import main

COMMANDS = ["demo", "fit", "order", "ingest", "report"]


def test_help_names_the_commands(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    said = capsys.readouterr().out
    assert [line.split()[0] for line in said.splitlines() if line[:4] == " " * 4 and line[4] != " "] == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_tells_how_it_is_used(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: python -m skeltraj {command} ")


def test_without_a_command_they_are_named(capsys):
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2
    said = capsys.readouterr()
    assert not said.out
    assert [line.split()[0] for line in said.err.splitlines() if line[:4] == " " * 4 and line[4] != " "] == COMMANDS


@pytest.mark.parametrize("given", [[], ["fly"], ["fit"], ["fit", "a.h5ad"], ["order", "a.h5ad", "-o"]])
def test_wrong_use_ends_with_status_2(given, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(given)
    assert stopped.value.code == 2
    assert "usage: python -m skeltraj" in capsys.readouterr().err


def test_an_interrupt_ends_with_status_130(folder, monkeypatch, capsys):
    def interrupted(name):
        raise KeyboardInterrupt

    monkeypatch.setattr(fit, "read", interrupted)
    assert main(["fit", "raw.h5ad", "-o", "out.h5ad"]) == 130
    assert capsys.readouterr().err == "skeltraj: interrupted\n"


@pytest.mark.parametrize("package", ["anndata", "numba"])  # of the commands, and of the methods that `fit` names
def test_an_interrupt_while_modules_are_imported_ends_with_status_130(package):
    script = f"""
import runpy, sys

class Interrupt:
    def find_spec(self, name, *_):
        if name == {package!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
sys.argv[1:] = ["fit", "raw.h5ad", "-o", "out.h5ad"]
runpy.run_module("skeltraj", run_name="__main__")
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "skeltraj: interrupted\n")


@pytest.mark.parametrize(("by", "status", "said"), [("SIGTERM", 143, "terminated"), ("SIGINT", 130, "interrupted")])
def test_signals_leave_no_files(by, status, said, folder, monkeypatch, capsys, request):
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, usual))
    there, handler = sorted(folder.iterdir()), signal.getsignal(getattr(signal, by))

    def half_written(adata, path):
        path.write_text("half")
        os.kill(os.getpid(), getattr(signal, by))

    monkeypatch.setattr(ad.AnnData, "write_h5ad", half_written)
    assert main(["order", "ordered.h5ad", "-o", "out.h5ad", "--root", "stage=stem"]) == status
    assert capsys.readouterr().err == f"skeltraj: {said}\n"
    assert sorted(folder.iterdir()) == there
    assert signal.getsignal(getattr(signal, by)) is handler


def test_no_memory_is_told_in_a_line(folder, monkeypatch, capsys):
    def too_large(name):
        raise MemoryError("Unable to allocate 3 TiB for an array")

    monkeypatch.setattr(fit, "read", too_large)
    assert main(["fit", "raw.h5ad", "-o", "out.h5ad"]) == 1
    assert capsys.readouterr().err == "skeltraj: there is not enough memory. Unable to allocate 3 TiB for an array\n"


@pytest.mark.parametrize(("encoding", "shown"), [("utf-8", "γδ"), ("cp1252", r"\u03b3\u03b4")])
def test_letters_that_the_terminal_lacks_are_shown_by_their_codes(encoding, shown, folder, monkeypatch, capsys):
    adata = ad.read_h5ad("ordered.h5ad")
    adata.obs["stage"] = adata.obs["stage"].cat.rename_categories({"stem": "γδ"})
    adata.write_h5ad("ordered.h5ad")
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr("sys.stdout", out)
    assert main(["order", "ordered.h5ad", "-o", "out.h5ad", "--root", "stage=γδ"]) == 0
    out.seek(0)
    assert f"the tip nearest to stage = {shown}." in out.read()
    assert capsys.readouterr().err == ""


def test_in_another_thread_signals_are_left_alone(folder):
    statuses = []
    command = ["order", "ordered.h5ad", "-o", "out.h5ad", "--root", "stage=stem"]
    other = threading.Thread(target=lambda: statuses.append(main(command)))
    other.start()
    other.join()
    assert statuses == [0]
