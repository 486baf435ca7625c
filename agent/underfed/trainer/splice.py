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
from typing import Any

from underfed.host.signal_handlers import let_through
from underfed.trainer.statements import HOOKS, PREFIX, SourcePosition, bound, call, parsed, taken_over

TOKEN, RESULT = f"{PREFIX}token", f"{PREFIX}result"
FUTURES = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)


@dataclass(frozen=True, slots=True)
class Around:
    """``token = entered(*arguments)`` first; where that is not ``None``, ``left(token, *arguments, result)`` before
    each return, and ``stopped(token, *arguments)`` while an exception passes through.

    ``arguments`` are names of the function's parameters. ``instead``: a method called before all else; its result is
    returned in the body's place, unless it is ``None``. ``is_boxed``: it returns a tuple of one, which may be ``None``
    itself. ``is_taken_over``: ``entered`` and ``left`` are not called,
    their statements stand in the function (see ``statements``).
    """

    arguments: tuple[str, ...]
    entered: str
    left: str | None = None
    stopped: str | None = None
    instead: str | None = None
    is_boxed: bool = False
    is_taken_over: bool = False


@dataclass(frozen=True, slots=True)
class AtCall:
    """``CALL`` becomes ``after(before(*arguments), CALL)`` wherever ``callee`` is called. Arguments are variables.

    ``only_while``: what the hooks have under this name is true; else ``CALL`` stays alone.
    """

    callee: str
    arguments: tuple[str, ...]
    before: str
    after: str
    only_while: str | None = None


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


@dataclass(frozen=True, slots=True)
class Added:
    """An attribute that a class did not have, until ``undo()``."""

    owner: type
    name: str
    value: object

    def undo(self) -> None:
        if vars(self.owner).get(self.name, self) is self.value:
            delattr(self.owner, self.name)


def add(owner: type, name: str, value: object) -> Added:
    setattr(owner, name, value)
    return Added(owner, name, value)


_templates: dict[tuple[str, CodeType, Around | AtCall, type], CodeType | None] = {}
"""Compiled once in a process and its forks: a worker that starts needs them within microseconds. By file, too: the same
code in another file is equal."""


def splice(function: Any, seam: Around | AtCall, hooks: object) -> Spliced | None:
    """Put calls of the methods of ``hooks`` into ``function``; ``None``: impossible, and nothing was changed."""
    if not isinstance(function, FunctionType):
        return None
    original = function.__code__
    key = (original.co_filename, original, seam, type(hooks))
    if key not in _templates:
        _templates[key] = _compile(original, seam, hooks)
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
            return result[0] if seam.is_boxed else result
        token = entered(*given) if entered is not None else None
        if token is None or left is None:
            return original(*arguments, **named)
        try:
            result = original(*arguments, **named)
        except BaseException:
            if stopped is not None:
                stopped(token, *given)
            raise
        left(token, *given, result)
        return result

    return wrapper


def _compile(original: CodeType, seam: Around | AtCall, hooks: object) -> CodeType | None:
    try:
        lines, _ = inspect.findsource(original)
        module = _parse("".join(lines))
        path = _path(module, original)
        if path is None or _find(_compiled(module, path, original), original) is None:
            return None
        *owners, function = path
        changed = copy.deepcopy(function)
        if not (_put_around(changed, seam, hooks) if isinstance(seam, Around) else _put_at_calls(changed, seam)):
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
    constants = (
        _bind(each, hooks) if isinstance(each, CodeType) else bound(each, hooks) for each in template.co_consts
    )
    return template.replace(co_consts=tuple(constants))


def _put_around(function: ast.FunctionDef, seam: Around, hooks: object) -> bool:
    parameters = {argument.arg for argument in (*function.args.posonlyargs, *function.args.args)}
    if not set(seam.arguments) <= parameters or any(
        isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(function)
    ):
        return False
    has_docstring = ast.get_docstring(function, clean=False) is not None
    documentation, body = function.body[:has_docstring], function.body[has_docstring:]
    first = SourcePosition(function.lineno, function.col_offset)
    start: list[Any] = []
    if seam.instead is not None:
        instead = call(seam.instead, *seam.arguments)
        result = f"{RESULT}[0]" if seam.is_boxed else RESULT
        start = parsed(f"{RESULT} = {instead}\nif {RESULT} is not None: return {result}", first)
    if seam.is_taken_over:
        start += taken_over(getattr(type(hooks), seam.entered), (*seam.arguments, TOKEN), first)
    else:
        start += parsed(f"{TOKEN} = {call(seam.entered, *seam.arguments)}", first)
    if seam.left is not None:
        leaving = _Leaving(seam, seam.left, hooks)
        body = [part for statement in body for part in leaving.returning(statement)]
        if not isinstance(body[-1], (ast.Return, ast.Raise)):
            body += leaving.leave(ast.Constant(None), SourcePosition(body[-1].lineno, 0))
    if seam.stopped is not None:
        note = call(seam.stopped, TOKEN, *seam.arguments)
        attempt = parsed(f"try: pass\nexcept BaseException:\n if {TOKEN} is not None: {note}\n raise", first)[0]
        attempt.body, body = body, [attempt]
    function.body = [*documentation, *start, *body]
    return True


class _Leaving(ast.NodeTransformer):
    """Puts ``left`` before each ``return`` of a function, not of one within."""

    def __init__(self, seam: Around, left: str, hooks: object) -> None:
        self.seam = seam
        self.left = left
        self.hooks = hooks

    def returning(self, statement: ast.stmt) -> list[ast.stmt]:
        changed = self.visit(statement)
        return changed if isinstance(changed, list) else [changed]

    def leave(self, value: ast.expr, place: SourcePosition) -> list[ast.stmt]:
        given = (TOKEN, *self.seam.arguments, RESULT)
        parts = parsed(f"{RESULT} = None\nif {TOKEN} is not None: {call(self.left, *given)}\nreturn {RESULT}", place)
        parts[0].value = ast.copy_location(value, parts[0].value) if not hasattr(value, "lineno") else value
        if self.seam.is_taken_over:
            parts[1].body = taken_over(getattr(type(self.hooks), self.left), given, place)
        return parts

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        return self.leave(node.value or ast.Constant(None), SourcePosition(node.lineno, node.col_offset))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node


def _put_at_calls(function: ast.FunctionDef, seam: AtCall) -> bool:
    known = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    known |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    found = False

    class Calls(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.expr:
            nonlocal found
            self.generic_visit(node)
            if ast.unparse(node.func) != seam.callee:
                return node
            found = True
            place = SourcePosition(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
            around: ast.Call = parsed(call(seam.after, call(seam.before, *seam.arguments), "None"), place)[0].value
            around.args[1] = node
            if seam.only_while is None:
                return around
            choice: ast.IfExp = parsed(f"None if {HOOKS!r}.{seam.only_while} else None", place)[0].value
            choice.body, choice.orelse = around, copy.deepcopy(node)
            return choice

    Calls().visit(function)
    return found and set(seam.arguments) <= known
