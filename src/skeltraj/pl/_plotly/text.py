"""Words from the data in what plotly draws."""

from __future__ import annotations

# plotly reads tags, entities, places to fill in (%{x}) and formulas ($x$) in every text
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "%": "&#37;", "$": "&#36;"})


def escaped(word: object) -> str:
    """A name so that plotly shows it as it is."""
    return str(word).translate(_ESCAPED)
