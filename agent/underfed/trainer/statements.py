"""Statements of ours for another function's source: parsed from text, or taken over from a method of ours.

A statement that is taken over runs in that function's own frame. It costs what it does, where a call of the method
costs several times that, and most where a batch has emptied the processor's caches.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple

HOOKS = "<underfed>"
"""Stands in the compiled code for the object whose methods are called; with a point and a name behind it, for what that
object has under this name."""

PREFIX = "_underfed_"
"""Begins the name of each variable of ours."""


class SourcePosition(NamedTuple):
    """The position that a new node has in the source."""

    line: int
    column: int
    end_line: int | None = None
    end_column: int | None = None


def parsed(source: str, place: SourcePosition) -> list[Any]:
    """New statements, all of which stand at one place of the function's source."""
    return _placed(ast.parse(source).body, place)


def call(method: str, *arguments: str) -> str:
    return f"({_method(method)})({', '.join(arguments)})"


def _method(name: str) -> str:
    """It is looked up once, when the code is bound to the object: in each call that takes longer than most of what is
    called. The condition is compiled to nothing; without one Python warns that a text is called."""
    return f"{f'{HOOKS}.{name}'!r} if True else None"


def bound(constant: object, hooks: object) -> object:
    """What a constant of the compiled code stands for."""
    if not isinstance(constant, str) or not constant.startswith(HOOKS):
        return constant
    return hooks if constant == HOOKS else getattr(hooks, constant.removeprefix(f"{HOOKS}."))


def taken_over(method: FunctionType, given: Sequence[str], place: SourcePosition) -> list[Any]:
    """The statements of a method, all of which stand at one place of the function's source.

    ``given`` are the variables that stand for its parameters, last for what it returns: a method returns once, as its
    last statement, or nothing. It may use its variables, what ``self`` has, numbers and texts of its module, built-ins.
    What it calls of ``self`` is what that has when the code is bound to it.

    Raises:
        TypeError: it is no such method.
        OSError: its source is not there.
    """
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(method))).body
    if not isinstance(definition, ast.FunctionDef):
        raise TypeError(f"{method} is no method")
    hooks, *parameters = (argument.arg for argument in definition.args.args)
    has_docstring = ast.get_docstring(definition, clean=False) is not None
    body = definition.body[has_docstring:]
    result = ""
    if isinstance(body[-1], ast.Return):
        *given, result = given
    if any(isinstance(node, ast.Return) for statement in body[:-1] for node in ast.walk(statement)):
        raise TypeError(f"{method.__qualname__} returns before its end")
    names = {name: PREFIX + name for name in method.__code__.co_varnames} | dict(zip(parameters, given, strict=True))
    taking = _TakingOver(hooks, names, result, method.__globals__)
    return _placed([taking.visit(statement) for statement in body], place)


class _TakingOver(ast.NodeTransformer):
    """Gives variables their names in the other function, and puts constants where names of the module stand."""

    def __init__(self, hooks: str, names: Mapping[str, str], result: str, module: Mapping[str, Any]) -> None:
        self.hooks = hooks
        self.names = names
        self.result = result
        self.module = module

    def visit_Call(self, node: ast.Call) -> ast.Call:
        function = node.func
        self.generic_visit(node)
        if (
            isinstance(function, ast.Attribute)
            and isinstance(function.value, ast.Constant)
            and function.value.value == HOOKS
        ):
            node.func = ast.parse(_method(function.attr), mode="eval").body
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == self.hooks:
            return ast.Constant(HOOKS)
        if node.id in self.names:
            return ast.Name(self.names[node.id], node.ctx)
        if node.id not in self.module:
            return node
        value = self.module[node.id]
        if type(value) not in (int, str):
            raise TypeError(f"{node.id} is no number and no text")
        return ast.Constant(value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.Assign:
        if node.value is None:
            raise TypeError("a variable without a value")
        return ast.Assign([self.visit(node.target)], self.visit(node.value))

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        if node.name is not None:
            node.name = self.names[node.name]
        return self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> ast.Assign:
        value = ast.Constant(None) if node.value is None else self.visit(node.value)
        return ast.Assign([ast.Name(self.result, ast.Store())], value)


def _placed(statements: list[Any], place: SourcePosition) -> list[Any]:
    line, column, end_line, end_column = place
    ends = {"end_lineno": end_line or line, "end_col_offset": column if end_column is None else end_column}
    for statement in statements:
        for node in ast.walk(statement):
            if "lineno" in node._attributes:
                vars(node).update(lineno=line, col_offset=column, **ends)
    return statements
