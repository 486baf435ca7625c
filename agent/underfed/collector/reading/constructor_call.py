"""The source of the call that constructed a loader: its own lines, what is in quotes left out, and nothing else.

The training process knows the line and reads nothing; here it costs training nothing. Where the line is one that
watches a loader, the call is the one that the watched name was assigned, or the only one of its file.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from underfed.exchange.facts import REASON_LENGTH, SourceLine
from underfed.host.signal_handlers import let_through

MOST_FILE_BYTES = 512 << 10
"""Parsing this much takes a quarter of a second, once, in which rings are not read: they hold more."""

MOST_LINES, MOST_CHARACTERS = 12, 1_000
"""Of a call that is sent. One of a dozen arguments has a line for each."""

OF_TORCH = ("multiprocessing_context", "pin_memory_device")
"""Arguments of ``DataLoader`` whose text is one of torch's own words."""

HIDDEN = '"…"'
HIDDEN_COMMENT = "# …"

Offsets = tuple[int, int]
"""Offsets of a piece in a text: where it begins and ends."""


@dataclass(frozen=True, slots=True)
class ConstructorCall:
    constructed_at: str | None = None
    text: str | None = None
    why_not: str | None = None


class _NotReadError(Exception):
    """The message says why."""


def read_call(source: SourceLine) -> ConstructorCall:
    """The call, its place, or why it was not read. Raises nothing."""
    at = f"{source.shown}:{source.line}" if source.is_constructor else None
    if source.file is None or source.line is None:
        return ConstructorCall(at, why_not=source.why_not)
    try:
        nodes, text = _parsed(Path(source.file), source.modified_ns)
        call = _find(nodes, source)
        # As it ran, which the next run is compared with; of a call of several lines Python may count another one.
        return ConstructorCall(at or f"{source.shown}:{call.lineno}", _source_of(nodes, text, call))
    except _NotReadError as error:
        return ConstructorCall(at, why_not=str(error))
    except Exception as error:  # of any kind of file that a program may be compiled from
        let_through(error)
        return ConstructorCall(at, why_not=f"its file cannot be read: {type(error).__name__}: {error}"[:REASON_LENGTH])


def _parsed(path: Path, modified_ns: int | None) -> tuple[list[ast.AST], str]:
    """All nodes of its syntax tree, and its text. A file that was written since is not what runs."""
    found = path.stat()
    if found.st_mtime_ns != modified_ns:
        raise _NotReadError("its file was changed since the loader was constructed")
    if found.st_size > MOST_FILE_BYTES:
        raise _NotReadError("its file is larger than is read")
    with tokenize.open(path) as file:
        text = file.read()
    return _nodes(ast.parse(text)), text


def _nodes(tree: ast.AST) -> list[ast.AST]:
    """As ``ast.walk``, in its order, without what says of a name whether it is read or assigned: in a third of its
    time, which is longer than that of parsing."""
    nodes = [tree]
    for node in nodes:  # which are more and more
        for name in node._fields:
            part = getattr(node, name, None)
            if isinstance(part, list):
                nodes += [each for each in part if isinstance(each, ast.AST)]
            elif isinstance(part, ast.AST) and name != "ctx":
                nodes.append(part)
    return nodes


def _find(nodes: list[ast.AST], source: SourceLine) -> ast.Call:
    calls = [each for each in nodes if isinstance(each, ast.Call)]
    names = {source.loader_type, *_aliases(nodes, source.loader_type)}
    constructors = [each for each in calls if _name(each.func) in names]
    at_line = [each for each in calls if each.lineno <= (source.line or 0) <= (each.end_lineno or each.lineno)]
    here = [each for each in constructors if each in at_line]
    if len(here) > 1:
        raise _NotReadError("several loaders are constructed in that line")
    if here:
        return here[0]
    if source.is_constructor:
        raise _NotReadError(f"no call of {source.loader_type} stands in that line")
    return _watched(nodes, at_line, constructors)


def _watched(nodes: list[ast.AST], at_line: list[ast.Call], constructors: list[ast.Call]) -> ast.Call:
    """What the watched name was assigned in the same function, if nothing else was; else the file's only one."""
    watches = (each for each in at_line if _name(each.func) == "watch")
    names = [each.args[0].id for each in watches if each.args and isinstance(each.args[0], ast.Name)]
    scope = _nodes(_scope(nodes, at_line[0])) if at_line else nodes
    assigned = [each.value for name in names[:1] for each in _assignments(scope, name)]
    others = [each for each in assigned if each not in constructors and each not in at_line]
    found = [each for each in assigned if isinstance(each, ast.Call) and each in constructors]
    if len(found) == 1 and not others:
        return found[0]
    if len(constructors) == 1 and not assigned:
        return constructors[0]
    raise _NotReadError("which call constructed it is not certain")


def _scope(nodes: list[ast.AST], call: ast.Call) -> ast.AST:
    """The innermost function around it, or the module."""
    inside = [
        each
        for each in nodes
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))
        and each.lineno <= call.lineno <= (each.end_lineno or 0)
    ]
    return max(inside, key=lambda each: each.lineno, default=nodes[0])


def _assignments(scope: list[ast.AST], name: str) -> Iterator[ast.Assign]:
    for each in scope:
        if isinstance(each, ast.Assign) and any(isinstance(to, ast.Name) and to.id == name for to in each.targets):
            yield each


def _aliases(nodes: list[ast.AST], name: str) -> Iterator[str]:
    """``from torch.utils.data import DataLoader as Loader``"""
    for each in nodes:
        if isinstance(each, ast.ImportFrom):
            yield from (one.asname for one in each.names if one.name == name and one.asname)


def _name(called: ast.expr) -> str | None:
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else None


def _source_of(nodes: list[ast.AST], text: str, call: ast.Call) -> str:
    """The statement that is nothing but this call and what it is assigned to, else the call alone."""
    whole = next((each for each in nodes if isinstance(each, ast.stmt) and _is_of(each, call)), call)
    indent = _indent(text.split("\n")[whole.lineno - 1])
    source = _without_texts(_without_indent(ast.get_source_segment(text, whole) or "", indent))
    if source.count("\n") >= MOST_LINES or len(source) > MOST_CHARACTERS:
        raise _NotReadError(f"it is longer than {MOST_LINES} lines or {MOST_CHARACTERS:,} characters")
    return source


def _is_of(statement: ast.stmt, call: ast.Call) -> bool:
    return isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr)) and statement.value is call


def _without_indent(source: str, indent: int) -> str:
    first, *rest = source.split("\n")
    return "\n".join([first, *(line[min(indent, _indent(line)) :] for line in rest)])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _without_texts(source: str) -> str:
    """What is in quotes may be a path, an address or a key; what is in comments, anything."""
    lines = source.split("\n")
    replaced = [(place, HIDDEN) for place in _texts(ast.parse(source), lines)]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    for token in tokens:
        if token.type == tokenize.COMMENT:
            begins = sum(len(line) + 1 for line in lines[: token.start[0] - 1]) + token.start[1]
            replaced.append(((begins, begins + len(token.string)), HIDDEN_COMMENT))
    for (begins, ends), hidden in sorted(replaced, reverse=True):
        source = source[:begins] + hidden + source[ends:]
    return source


def _texts(node: ast.AST, lines: list[str]) -> Iterator[Offsets]:
    """Pieces of strings are part of them: the outermost is replaced as a whole."""
    if isinstance(node, ast.keyword) and node.arg in OF_TORCH and isinstance(node.value, ast.Constant):
        return
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
    if is_text or type(node).__name__ in ("JoinedStr", "TemplateStr"):
        places = vars(node)
        yield (
            _offset(lines, places["lineno"], places["col_offset"]),
            _offset(lines, places["end_lineno"], places["end_col_offset"]),
        )
        return
    for child in ast.iter_child_nodes(node):
        yield from _texts(child, lines)


def _offset(lines: list[str], line: int, column: int) -> int:
    """Columns of a syntax tree count bytes."""
    before = sum(len(each) + 1 for each in lines[: line - 1])
    return before + len(lines[line - 1].encode()[:column].decode())
