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
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging

import skeltraj

_logger = logging.getLogger(__name__)

_ROOMS = ("core", "tl", "get", "pl", "estimators", "datasets")
_PLAIN = {"int", "float", "bool", "str", "object", "list", "dict", "tuple", "set", "type"}
_LISTS = {"Sequence": "sequence", "list": "list", "Iterable": "iterable", "Iterator": "iterator", "set": "set"}
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
    "posixpath.PathLike": "os.PathLike",
}
_SECTION = re.compile(r"^(Parameters|Attributes|Other Parameters)\n-+\n(.*?)(?=\n\n\S[^\n]*\n-{3,}\n|\Z)", re.S | re.M)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the role of text in single backticks, and what is done to docstrings."""
    app.add_role("short", _short)
    # before napoleon, which comes at 500
    app.connect("autodoc-process-docstring", _put_types, priority=400)
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
    """Write the type of each parameter beside its name, as ``name : type``, which is read as a definition list."""
    doc = "\n".join(lines)
    if what not in ("function", "class", "method"):
        return
    lines[:] = _SECTION.sub(lambda section: _typed(section, documented, name), doc).splitlines()


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
    if not isinstance(annotation, str):
        annotation = inspect.formatannotation(annotation)
    return _words(ast.parse(annotation, mode="eval").body, names, where)


def _words(node: ast.expr, names: dict[str, Any], where: str) -> str:
    inner: Callable[[ast.expr], str] = lambda one: _words(one, names, where)
    match node:
        case ast.BinOp(op=ast.BitOr()):
            return _either([inner(one) for one in _alternatives(node)])
        case ast.Constant(value=None):
            return "None"
        case ast.Constant(value=str() as quoted):
            return inner(ast.parse(quoted, mode="eval").body)
        case ast.Constant(value=value):
            return f"``{value!r}``" if value is not ... else "..."
        case ast.Subscript(value=ast.Name(id="Literal"), slice=values):
            options = values.elts if isinstance(values, ast.Tuple) else [values]
            return _either([f"``{ast.literal_eval(one)!r}``".replace("'", '"') for one in options])
        case ast.Subscript(value=ast.Name(id="ClassVar"), slice=of):
            return inner(of)
        case ast.Subscript(value=ast.Name(id="Callable")):
            return ":term:`function`"
        case ast.Subscript(value=ast.Name(id="Mapping" | "dict"), slice=ast.Tuple(elts=[_, value])):
            return f"dict of {inner(value)}"
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=[value, ast.Constant(value=end)])) if (
            end is ...
        ):
            return f"tuple of {inner(value)}"
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=values)):
            return f"tuple ({', '.join(inner(one) for one in values)})"
        case ast.Subscript(value=ast.Name(id=name), slice=of) if name in _LISTS:
            return f"{_LISTS[name]} of {inner(of)}"
        case ast.Subscript(value=value):
            return inner(value)
        case ast.Name() | ast.Attribute():
            return _linked(ast.unparse(node), names, where)
    _logger.warning("no words for the type %s of %s", ast.unparse(node), where)
    return f"``{ast.unparse(node)}``"


def _alternatives(node: ast.expr) -> list[ast.expr]:
    """``a | b | c`` as a list."""
    if isinstance(node, ast.BinOp):
        return [*_alternatives(node.left), *_alternatives(node.right)]
    return [node]


def _either(options: list[str]) -> str:
    """Alternatives as one says them; None comes last."""
    flat = [one for option in options for one in re.split(r", | or (?![a-z ]*:)", option)]
    flat = [one for one in dict.fromkeys(flat) if one != "None"] + ["None"] * ("None" in flat)
    return flat[0] if len(flat) == 1 else f"{', '.join(flat[:-1])} or {flat[-1]}"


def _linked(written: str, names: dict[str, Any], where: str) -> str:
    """A name in an annotation as a link: to a class, or into the glossary of types."""
    if written in _PLAIN:
        return written
    if written in ("Any", "typing.Any"):
        return "anything"
    first, *rest = written.split(".")
    meant = names.get(first)
    for part in rest:
        meant = getattr(meant, part, None)
    if inspect.isclass(meant):
        full = f"{meant.__module__}.{meant.__qualname__}"
        public = _public(meant)
        if public or not full.startswith("skeltraj."):
            return f":py:class:`~{public or _DOCUMENTED.get(full, full)}`"
    return f":term:`{written}`"


def _public(meant: type) -> str | None:
    """The public name of a class of ours."""
    for room in _ROOMS:
        if meant.__module__.startswith("skeltraj.") and getattr(getattr(skeltraj, room), meant.__name__, None) is meant:
            if meant.__name__ in getattr(skeltraj, room).__all__:
                return f"skeltraj.{room}.{meant.__name__}"
    return None
