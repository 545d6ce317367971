"""Docstrings as pages: types beside the names of parameters, taken from the signature, and links where a name is ours.

The docstrings say what a parameter is for, the signature of which type it is. Both are put together here, in words:
``int | Literal["auto"]`` is written ``int or "auto"``. Names that stand for several types (`Root`, `Palette`) are links
into the glossary of types, `api/types.md`; a build fails if one of them is not explained there.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable
from typing import Any, ForwardRef

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging

import skeltraj

_logger = logging.getLogger(__name__)

_ROOMS = ("core", "tl", "get", "pl", "estimators", "datasets")
_PLAIN = {"int", "float", "bool", "str", "object", "list", "dict", "tuple", "set", "type"}
_EXPLAINED = {"Root", "Palette", "Bounds", "Init", "Callback", "Learn"}  # in the glossary, though made of other types
# where a class is found in its project's documentation, if not where it is defined
_DOCUMENTED = {
    "anndata._core.anndata.AnnData": "anndata.AnnData",
    "pandas.core.frame.DataFrame": "pandas.DataFrame",
    "pandas.core.series.Series": "pandas.Series",
    "pandas.core.indexes.base.Index": "pandas.Index",
    "numpy.random._generator.Generator": "numpy.random.Generator",
    "scipy.sparse._csr.csr_matrix": "scipy.sparse.csr_matrix",
    "scipy.sparse._csr.csr_array": "scipy.sparse.csr_array",
    "scipy.sparse._matrix.spmatrix": "scipy.sparse.spmatrix",
    "networkx.classes.graph.Graph": "networkx.Graph",
    "networkx.classes.digraph.DiGraph": "networkx.DiGraph",
    "pathlib._local.Path": "pathlib.Path",
    "numpy.random.mtrand.RandomState": "numpy.random.RandomState",
    "matplotlib.axes._axes.Axes": "matplotlib.axes.Axes",
}
_SECTION = re.compile(r"^(Parameters|Attributes|Other Parameters)\n-+\n(.*?)(?=\n\n\S[^\n]*\n-{3,}\n|\Z)", re.S | re.M)
_EXAMPLES = re.compile(r"^Examples\n-+\n.*?(?=\n\n\S[^\n]*\n-{3,}\n|\Z)", re.DOTALL | re.MULTILINE)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the role of text in single backticks, and what is done to docstrings."""
    app.add_role("short", _short)
    # before napoleon, which comes at 500
    app.connect("autodoc-process-docstring", _put_types, priority=400)
    app.connect("autodoc-process-docstring", _hide, priority=450)
    app.connect("autodoc-process-docstring", _show, priority=550)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _short(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, options: Any = None, content: Any = ()
) -> Any:
    """`tl.order` and `skeltraj.core.Graph` are links, if there are such; everything else is literal text."""
    literal = nodes.literal(rawtext, text)
    target = _ours(text)
    if target is None:
        return [literal], []
    reference = addnodes.pending_xref(
        rawtext, refdomain="py", reftype="obj", reftarget=target, refexplicit=True, refwarn=True
    )
    literal["classes"] += ["xref", "py", "py-obj"]
    reference += literal
    return [reference], []


def _ours(text: str) -> str | None:
    """The full name of a public function or class that is written `room.name`, None if there is none."""
    parts = text.removesuffix("()").removeprefix("skeltraj.").removeprefix("st.").split(".")
    if len(parts) == 2 and parts[0] in _ROOMS and parts[1] in getattr(skeltraj, parts[0]).__all__:
        return f"skeltraj.{parts[0]}.{parts[1]}"
    return None


def _put_types(app: Sphinx, what: str, name: str, documented: Any, options: Any, lines: list[str]) -> None:
    """Write the type of each parameter beside its name, as ``name : type``, which is read as a definition list.

    Where a function draws, its picture comes before the parameters.
    """
    doc = "\n".join(lines)
    if what not in ("function", "class", "method"):
        return
    doc = _SECTION.sub(lambda section: _typed(section, documented, name), doc)
    if name.startswith("skeltraj.pl.") and (picture := _EXAMPLES.search(doc)):
        doc = doc.replace(picture[0], "").replace("Parameters\n---", f"{picture[0]}\n\nParameters\n---", 1)
    lines[:] = doc.splitlines()


_hidden: list[str] = []


def _hide(app: Sphinx, what: str, name: str, documented: Any, options: Any, lines: list[str]) -> None:
    """Keep what attributes say from napoleon, which takes the words before a colon for a type."""
    _hidden[:] = lines if what in ("property", "attribute") else []
    if _hidden:
        lines.clear()


def _show(app: Sphinx, what: str, name: str, documented: Any, options: Any, lines: list[str]) -> None:
    """Put it back."""
    if _hidden:
        lines[:] = _hidden


def _typed(section: re.Match[str], documented: Any, name: str) -> str:
    """The section of a docstring in which parameters are described, with their types."""
    try:
        parameters = inspect.signature(documented).parameters
    except (TypeError, ValueError):
        parameters = {}
    of = _module_of(documented)
    entries = []
    for line in section[2].splitlines():
        if not line or line.startswith(" "):
            entries.append(line)
            continue
        names = [one.strip() for one in line.split(" : ")[0].split(",")]
        types = [
            readable(parameters[one.lstrip("*")].annotation, of, name) for one in names if one.lstrip("*") in parameters
        ]
        term = ", ".join(
            f"**{one}**".replace("***", "**\\*", 1) if one.startswith("*") else f"**{one}**" for one in names
        )
        entries.append(term + (f" : {types[0]}" if types and types[0] and len(set(types)) == 1 else ""))
    return f"{section[1]}\n{'-' * len(section[1])}\n" + "\n".join(entries)


def _module_of(documented: Any) -> dict[str, Any]:
    """The names that annotations of a function or class were written with."""
    plain = inspect.unwrap(documented)
    module = sys.modules.get(getattr(plain, "__module__", ""))
    return vars(module) if module else {}


def readable(annotation: Any, names: dict[str, Any], where: str) -> str:
    """An annotation in words, as reStructuredText; empty if there is none."""
    if annotation is inspect.Parameter.empty:
        return ""
    return _either(_words(_parsed(annotation), names, where))


def _parsed(annotation: Any) -> ast.expr:
    """An annotation as an expression, however it is at hand."""
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        annotation = inspect.formatannotation(annotation)
    return ast.parse(annotation, mode="eval").body


def _words(node: ast.expr, names: dict[str, Any], where: str) -> list[str]:
    """The alternatives of an annotation, each in words."""
    inner: Callable[[ast.expr], str] = lambda one: _either(_words(one, names, where))
    match node:
        case ast.BinOp(op=ast.BitOr()):
            return [*_words(node.left, names, where), *_words(node.right, names, where)]
        case ast.Constant(value=None):
            return ["None"]
        case ast.Constant(value=str() as quoted):
            return _words(_parsed(quoted), names, where)
        case ast.Name() | ast.Attribute():
            return _named(ast.unparse(node), names, where)
        case ast.Subscript(value=of, slice=inside):
            parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
            match ast.unparse(of).rpartition(".")[2]:
                case "Literal":
                    return [f"``{ast.literal_eval(one)!r}``".replace("'", '"') for one in parts]
                case "ClassVar" | "type":
                    return _words(inside, names, where)
                case "Union":
                    return [word for one in parts for word in _words(one, names, where)]
                case "Optional":
                    return [*_words(inside, names, where), "None"]
                case "Callable":
                    return [":term:`function`"]
                case "Mapping" | "dict":
                    return [f"dict of {inner(parts[1])}"]
                case "tuple" if ast.unparse(parts[-1]) == "...":
                    return [f"tuple of {inner(parts[0])}"]
                case "tuple":
                    return [f"tuple ({', '.join(inner(one) for one in parts)})"]
                case "list" | "Sequence" | "Iterable" | "Iterator" | "set" as kind:
                    return [f"{kind.lower()} of {inner(inside)}"]
                case _:
                    return _words(of, names, where)
    _logger.warning("no words for the type %s of %s", ast.unparse(node), where)
    return [f"``{ast.unparse(node)}``"]


def _either(options: list[str]) -> str:
    """Alternatives as one says them; None comes last."""
    flat = [one for one in dict.fromkeys(options) if one != "None"] + ["None"] * ("None" in options)
    return flat[0] if len(flat) == 1 else f"{', '.join(flat[:-1])} or {flat[-1]}"


def _named(written: str, names: dict[str, Any], where: str) -> list[str]:
    """What a name in an annotation means: a class of which there is a page, a word of the glossary, or alternatives."""
    if written in _PLAIN:
        return [written]
    if written in ("Any", "typing.Any"):
        return ["anything"]
    if written in _EXPLAINED:
        return [f":term:`{written}`"]
    first, *rest = written.split(".")
    meant = names.get(first, sys.modules.get(first))
    for part in rest:
        meant = getattr(meant, part, None)
    if meant is not None and not inspect.isclass(meant):
        return _words(_parsed(meant), {}, where)
    if inspect.isclass(meant) and not (full := f"{meant.__module__}.{meant.__qualname__}").startswith("skeltraj."):
        return [f":py:class:`~{_DOCUMENTED.get(full, full)}`"]
    if inspect.isclass(meant) and (public := _public(meant)):
        return [f":py:class:`~{public}`"]
    name = written.rpartition(".")[2]
    homes = [room for room in _ROOMS if name in getattr(skeltraj, room).__all__]
    if meant is None and homes:  # imported for type checkers alone
        return [f":py:class:`~skeltraj.{homes[0]}.{name}`"]
    return [f":term:`{name}`"]


def _public(meant: type) -> str | None:
    """The public name of a class of ours."""
    for room in _ROOMS:
        if meant.__module__.startswith("skeltraj.") and getattr(getattr(skeltraj, room), meant.__name__, None) is meant:
            if meant.__name__ in getattr(skeltraj, room).__all__:
                return f"skeltraj.{room}.{meant.__name__}"
    return None
