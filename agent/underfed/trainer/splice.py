"""Lets calls of ours run at the edges of a Python function, inside its own frame.

A wrapper around a function shows in every traceback and shifts what ``warnings.warn(stacklevel=2)`` blames, and torch's
iterators warn so. Here the function's own source is compiled again, with our calls in it, and takes the place of its
``__code__``: same file, same lines, same frames. It is compiled without our calls too: only if that gives the code that
runs is it the source of it. Else nothing is changed, and ``wrap`` puts a function around it, as a decorator does.
"""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from underfed.host.signal_handlers import let_through

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


@dataclass(frozen=True, slots=True)
class Replaced:
    """An attribute of a class or module with ours in its place, until ``undo()``."""

    owner: Any
    name: str
    original: Any
    replacement: Any

    def undo(self) -> None:
        """Not where another replacement wraps ours, which then only passes calls on."""
        if vars(self.owner).get(self.name) is self.replacement:
            setattr(self.owner, self.name, self.original)


_templates: dict[tuple[str, CodeType, Around | AtCall], CodeType | None] = {}
"""Compiled once in a process and its forks: a worker that starts needs them within microseconds. By file, too: the same
code in another file is equal."""


def splice(function: Any, seam: Around | AtCall, hooks: object) -> Spliced | None:
    """Put calls of the methods of ``hooks`` into ``function``; ``None``: impossible, and nothing was changed."""
    if not isinstance(function, FunctionType):
        return None
    original = function.__code__
    key = (original.co_filename, original, seam)
    if key not in _templates:
        _templates[key] = _compile(original, seam)
    template = _templates[key]
    if template is None:
        return None
    spliced = Spliced(function, original, _bind(template, hooks))
    function.__code__ = spliced.code
    return spliced


def wrap(owner: type, name: str, seam: Around, hooks: object) -> Replaced | None:
    """Put a function that calls the methods of ``hooks`` around a method of the class; ``None``: impossible.

    Tracebacks get a frame more by that, a warning's ``stacklevel`` ends one frame lower, and a call takes longer.
    """
    original = vars(owner).get(name)
    if not callable(original) or not _is_called_with(original, seam.arguments):
        return None
    wrapper = _wrapper(original, seam, hooks)
    setattr(owner, name, wrapper)
    return Replaced(owner, name, original, wrapper)


def _is_called_with(method: Callable[..., Any], names: tuple[str, ...]) -> bool:
    """Whether these are its first parameters."""
    try:
        parameters = tuple(inspect.signature(method).parameters)
    except (TypeError, ValueError):
        return False
    return parameters[: len(names)] == names


def _wrapper(original: Callable[..., Any], seam: Around, hooks: object) -> Callable[..., Any]:
    instead, entered, left, stopped = (
        getattr(hooks, name) if name is not None else None
        for name in (seam.instead, seam.entered, seam.left, seam.stopped)
    )
    count = len(seam.arguments)

    @functools.wraps(original)
    def wrapper(*arguments: Any, **named: Any) -> Any:
        given = (*arguments[:count], *(named[name] for name in seam.arguments[len(arguments) :]))
        if instead is not None and (result := instead(*given)) is not None:
            return result
        token = entered(*given) if entered is not None else None
        if token is None or left is None:
            return original(*arguments, **named)
        try:
            result = original(*arguments, **named)
        except BaseException:
            if stopped is not None:
                stopped(token, *given)
            raise
        return left(token, *given, result)

    return wrapper


def _compile(original: CodeType, seam: Around | AtCall) -> CodeType | None:
    try:
        lines, _ = inspect.findsource(original)
        module = _parse("".join(lines))
        path = _path(module, original)
        if path is None or _find(_compiled(module, path, original), original) is None:
            return None
        *owners, function = path
        changed = copy.deepcopy(function)
        if not (_put_around(changed, seam) if isinstance(seam, Around) else _put_at_calls(changed, seam)):
            return None
        return _find_named(_compiled(module, [*owners, changed], original), original.co_name)
    except (OSError, TypeError, SyntaxError, ValueError, RecursionError) as error:
        let_through(error)
        return None  # no source beside the code, or none that can be compiled


@functools.lru_cache(maxsize=1)
def _parse(source: str) -> ast.Module:
    """The functions of one file are spliced in a row."""
    return ast.parse(source)


def _path(node: ast.AST, code: CodeType) -> list[Any] | None:
    """The classes around the definition of this code, and the definition: none within another function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
            if (child.name, first) == (code.co_name, code.co_firstlineno):
                return [child]
        elif not isinstance(child, (ast.AsyncFunctionDef, ast.Lambda)) and (path := _path(child, code)) is not None:
            return [child, *path] if isinstance(child, ast.ClassDef) else path
    return None


def _compiled(module: ast.Module, path: list[Any], original: CodeType) -> CodeType:
    """A module with this function, alone in its classes. The file's imports are in it: a method of a name that was
    imported is called by other instructions."""
    *owners, inner = path
    for owner in reversed(owners):
        alone = copy.copy(owner)
        alone.bases, alone.keywords, alone.decorator_list, alone.type_params = [], [], [], []
        alone.body = [inner]
        inner = alone
    tree = ast.Module([*_imports(module), inner], [])
    ast.fix_missing_locations(tree)
    flags = original.co_flags & FUTURES
    code: CodeType = compile(tree, original.co_filename, "exec", flags=flags, dont_inherit=True)
    return code


def _imports(node: ast.AST) -> Iterator[ast.stmt]:
    """Those of the module itself, also within its conditions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import) or (isinstance(child, ast.ImportFrom) and child.module != "__future__"):
            yield child
        elif not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)):
            yield from _imports(child)


def _find(code: CodeType, original: CodeType) -> CodeType | None:
    """The code object within that is the same: instructions, lines, constants and all code in it."""
    found = _find_named(code, original.co_name)
    return found if found is not None and _is_same(found, original) else None


def _is_same(one: CodeType, other: CodeType) -> bool:
    """Python 3.10 compares no lines."""
    pairs = zip(one.co_consts, other.co_consts, strict=False)
    return (
        one == other
        and one.co_linetable == other.co_linetable
        and all(_is_same(part, its) for part, its in pairs if isinstance(part, CodeType) and isinstance(its, CodeType))
    )


def _find_named(code: CodeType, name: str) -> CodeType | None:
    """The outermost code object of that name."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return next((each for each in inner if each.co_name == name), None) or next(
        (found for each in inner if (found := _find_named(each, name)) is not None), None
    )


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
