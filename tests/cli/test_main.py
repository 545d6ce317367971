"""The command line as a whole."""

from __future__ import annotations

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
