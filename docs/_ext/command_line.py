"""What the commands of the command line say of themselves, on a page: ``command-help`` with the name of one."""

from __future__ import annotations

import argparse
import os
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from skeltraj._cli.main import _parser

_COLUMNS = "88"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class CommandHelp(Directive):
    """The help of one command."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The text as the command prints it."""
        [commands] = [action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction)]
        command = commands.choices[self.arguments[0]]
        before = os.environ.get("COLUMNS")
        os.environ["COLUMNS"] = _COLUMNS
        try:
            text = command.format_help()
        finally:
            if before is None:
                del os.environ["COLUMNS"]
            else:
                os.environ["COLUMNS"] = before
        block = nodes.literal_block(text, text)
        block["language"] = "text"
        return [block]
