"""Lets calls of ours run at the edges of a Python function, inside its own frame.

A wrapper around a function shows in every traceback and shifts what ``warnings.warn(stacklevel=2)`` blames, and torch's
iterators warn so. Here the function's own source is compiled again, with our calls in it, and takes the place of its
``__code__``: same file, same lines, same frames. Where the source is missing or of another shape, nothing is changed.
"""

from __future__ import annotations
import __future__

import ast
import inspect
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, NamedTuple

HOOKS = "<underfed>"
"""Stands in the compiled code for the object whose methods are called."""

TOKEN, RESULT = "_underfed_token", "_underfed_result"
FUTURES = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)


@dataclass(frozen=True, slots=True)
class Around:
    """``token = entered(*arguments)`` first; where that is not ``None``, ``left(token, *arguments, result)`` at each
    return, whose value is returned, and ``stopped(token, *arguments)`` while an exception passes through.

    ``arguments`` are names of the function's parameters. ``instead``: a method called before all else; its result is
    returned in the body's place, unless it is ``None``.
    """

    arguments: tuple[str, ...]
    entered: str
    left: str | None = None
    stopped: str | None = None
    instead: str | None = None


@dataclass(frozen=True, slots=True)
class AtCall:
    """``CALL`` becomes ``after(before(*arguments), CALL)`` wherever ``callee`` is called. Arguments are variables."""

    callee: str
    arguments: tuple[str, ...]
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Spliced:
    """A function with our calls in it, until ``undo()``."""

    function: FunctionType
    original: CodeType
    code: CodeType

    def undo(self) -> None:
        """Not where someone has replaced the code after us."""
        if self.function.__code__ is self.code:
            self.function.__code__ = self.original


_templates: dict[tuple[CodeType, Around | AtCall], CodeType | None] = {}
"""Compiled once in a process and its forks: a worker that starts needs them within microseconds."""


def splice(function: Any, seam: Around | AtCall, hooks: object) -> Spliced | None:
    """Put calls of the methods of ``hooks`` into ``function``; ``None``: impossible, and nothing was changed."""
    if not isinstance(function, FunctionType):
        return None
    original = function.__code__
    key = (original, seam)
    if key not in _templates:
        _templates[key] = _compile(original, seam)
    template = _templates[key]
    if template is None:
        return None
    spliced = Spliced(function, original, _bind(template, hooks))
    function.__code__ = spliced.code
    return spliced


def _compile(original: CodeType, seam: Around | AtCall) -> CodeType | None:
    try:
        tree = _parse(original)
        function = next(
            node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == original.co_name
        )
        if not (_put_around(function, seam) if isinstance(seam, Around) else _put_at_calls(function, seam)):
            return None
        ast.fix_missing_locations(tree)
        flags = original.co_flags & FUTURES
        module = compile(tree, original.co_filename, "exec", flags=flags, dont_inherit=True)
    except (OSError, TypeError, SyntaxError, ValueError, StopIteration, RecursionError):
        return None  # no source beside the code, or source that is not this code's
    code = _find(module, original.co_name)
    return code if code is not None and _is_like(code, original) else None


def _parse(code: CodeType) -> ast.Module:
    """With the lines and columns that tracebacks point at; a method within a class, where ``super()`` finds it."""
    source = inspect.getsource(code)
    if not source[:1].isspace():
        tree = ast.parse(source)
        return ast.increment_lineno(tree, code.co_firstlineno - 1)
    qualname = getattr(code, "co_qualname", "")
    owner = qualname.rpartition(".")[0].rpartition(".")[2] or "_"
    tree = ast.parse(f"class {owner if owner.isidentifier() else '_'}:\n{source}")
    return ast.increment_lineno(tree, code.co_firstlineno - 2)


def _find(code: CodeType, name: str) -> CodeType | None:
    """The outermost code object of that name."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return next((each for each in inner if each.co_name == name), None) or next(
        (found for each in inner if (found := _find(each, name)) is not None), None
    )


def _is_like(code: CodeType, original: CodeType) -> bool:
    """Whether it can replace the other: called the same way, closing over the same variables."""
    arguments = original.co_argcount + original.co_kwonlyargcount
    return (
        code.co_freevars == original.co_freevars
        and code.co_firstlineno == original.co_firstlineno
        and (code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount)
        == (original.co_argcount, original.co_kwonlyargcount, original.co_posonlyargcount)
        and code.co_varnames[:arguments] == original.co_varnames[:arguments]
        and code.co_flags == original.co_flags
        and _words(original) <= _words(code)
    )


def _words(code: CodeType) -> set[str]:
    """Names and texts in it, by which a source file that was replaced under the running program is noticed."""
    return {*code.co_names, *(constant for constant in code.co_consts if isinstance(constant, str))}


def _bind(template: CodeType, hooks: object) -> CodeType:
    def bound(constant: object) -> object:
        if isinstance(constant, CodeType):
            return _bind(constant, hooks)
        return hooks if isinstance(constant, str) and constant == HOOKS else constant

    return template.replace(co_consts=tuple(map(bound, template.co_consts)))


def _put_around(function: ast.FunctionDef, seam: Around) -> bool:
    parameters = {argument.arg for argument in (*function.args.posonlyargs, *function.args.args)}
    if not set(seam.arguments) <= parameters or any(
        isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(function)
    ):
        return False
    has_docstring = ast.get_docstring(function, clean=False) is not None
    documentation, body = function.body[:has_docstring], function.body[has_docstring:]
    first = _Place(function.lineno, function.col_offset)
    start = ""
    if seam.instead is not None:
        start += f"{RESULT} = {_call(seam.instead, *seam.arguments)}\nif {RESULT} is not None: return {RESULT}\n"
    entered = _call(seam.entered, *seam.arguments)
    start += entered if seam.left is None else f"{TOKEN} = {entered}"
    if seam.left is not None:
        leave = _call(seam.left, TOKEN, *seam.arguments, RESULT)
        body = [part for statement in body for part in _returning(statement, leave)]
        if not isinstance(body[-1], (ast.Return, ast.Raise)):
            body += _leave(ast.Constant(None), leave, _Place(body[-1].lineno, 0))
    if seam.stopped is not None:
        note = _call(seam.stopped, TOKEN, *seam.arguments)
        attempt = _parsed(f"try: pass\nexcept BaseException:\n if {TOKEN} is not None: {note}\n raise", first)[0]
        attempt.body, body = body, [attempt]
    function.body = [*documentation, *_parsed(start, first), *body]
    return True


def _returning(statement: ast.stmt, leave: str) -> list[ast.stmt]:
    """The statement, with each ``return`` of this function (not of one within) going through ``leave``."""

    class Returns(ast.NodeTransformer):
        def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
            return _leave(node.value or ast.Constant(None), leave, _Place(node.lineno, node.col_offset))

        def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
            return node

        def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
            return node

        def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
            return node

    changed = Returns().visit(statement)
    return changed if isinstance(changed, list) else [changed]


def _leave(value: ast.expr, leave: str, place: _Place) -> list[ast.stmt]:
    parts = _parsed(f"{RESULT} = None\nreturn {leave} if {TOKEN} is not None else {RESULT}", place)
    parts[0].value = ast.copy_location(value, parts[0].value) if not hasattr(value, "lineno") else value
    return parts


def _put_at_calls(function: ast.FunctionDef, seam: AtCall) -> bool:
    known = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    known |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    found = False

    class Calls(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.Call:
            nonlocal found
            self.generic_visit(node)
            if ast.unparse(node.func) != seam.callee:
                return node
            found = True
            place = _Place(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
            around: ast.Call = _parsed(_call(seam.after, _call(seam.before, *seam.arguments), "None"), place)[0].value
            around.args[1] = node
            return around

    Calls().visit(function)
    return found and set(seam.arguments) <= known


def _call(method: str, *arguments: str) -> str:
    return f"{HOOKS!r}.{method}({', '.join(arguments)})"


class _Place(NamedTuple):
    """The position that a new node has in the source."""

    line: int
    column: int
    end_line: int | None = None
    end_column: int | None = None


def _parsed(source: str, place: _Place) -> list[Any]:
    """New statements, all of which stand at one place of the function's source."""
    tree = ast.parse(source)
    line, column, end_line, end_column = place
    for node in ast.walk(tree):
        if "lineno" in node._attributes:
            ends = {"end_lineno": end_line or line, "end_col_offset": column if end_column is None else end_column}
            vars(node).update(lineno=line, col_offset=column, **ends)
    return tree.body
