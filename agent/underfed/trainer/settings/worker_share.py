"""Whether a function divides what it yields by the worker that it runs in, as its source shows.

Asking ``get_worker_info()`` divides nothing: many data sets ask for a seed or a log line. Known for sure is a range, a
slice, a remainder or a shard in which the worker's number and the number of workers both take part.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from types import FunctionType

from underfed.host.signal_handlers import passing

ASKS = "get_worker_info"
"""The only way that torch offers a data set to learn which worker it is in. webdataset, litdata, mosaicml-streaming and
Hugging Face's datasets all call it, in a stage, a helper or under another name."""

DIVIDING = frozenset({"range", "arange", "islice", "slice", "shard", "split_dataset_by_node"})
"""Called with both, these give a worker its part: of Python, torch, numpy and Hugging Face's datasets."""

IN_MAIN = frozenset({"__init__", "__new__", "__post_init__"})
"""Where torch has no worker to tell of: a data set is made in the training process."""

CALLS = 3
"""Depth of functions that are followed to what they return."""

INFO, NUMBER, COUNT = "info", "number", "count"
Known = frozenset[str]
"""What of a worker a value depends on."""

NOTHING: Known = frozenset()
BOTH: Known = frozenset({NUMBER, COUNT})
PARTS = {"id": frozenset({NUMBER}), "num_workers": frozenset({COUNT})}


def divides_by_worker(function: FunctionType) -> bool:
    """Reads the source file, and runs nothing. False where there is no source."""
    if function.__name__ in IN_MAIN:
        return False
    followed = Followed(function, CALLS)
    return any(followed.of(each) >= BOTH for each in _divisions(followed.always()))


class Followed:
    """What the names of a function depend on, whichever way its statements run in a worker."""

    def __init__(self, function: FunctionType, calls: int) -> None:
        self.tree = _source(function)
        self._function = function
        self._calls = calls
        self._names: dict[str, Known] = {}
        # What a loop assigns at its end is used at its beginning.
        for _ in range(2):
            for node in self.always():
                if isinstance(node, ast.Assign):
                    for target in node.targets:
                        self._assign(target, node.value)
                elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
                    self._assign(node.target, node.value)

    def always(self) -> Iterator[ast.AST]:
        """In their order all that it is made of, but for what it does on a condition that is not about the worker: a
        switch of the data set's own may be off."""
        waiting: list[ast.AST] = [self.tree]
        while waiting:
            node = waiting.pop()
            yield node
            is_switched = isinstance(node, (ast.If, ast.IfExp)) and not self._is_of_worker(node.test)
            waiting += [node.test] if is_switched else [*ast.iter_child_nodes(node)][::-1]  # type: ignore[attr-defined]

    def _is_of_worker(self, test: ast.AST) -> bool:
        if isinstance(test, (ast.Name, ast.Attribute, ast.Call)):
            return bool(self.of(test))
        if isinstance(test, (ast.BoolOp, ast.Compare, ast.UnaryOp, ast.BinOp, ast.NamedExpr)):
            parts = (part for part in ast.iter_child_nodes(test) if isinstance(part, ast.expr))
            return all(map(self._is_of_worker, parts))
        return isinstance(test, ast.Constant)

    def of(self, node: ast.AST) -> Known:
        """What an expression depends on. Of a condition what it chooses from counts; a text divides nothing."""
        if _is_text(node):
            return NOTHING
        if isinstance(node, (ast.Name, ast.Attribute)) and (name := _name(node)) in self._names:
            return self._names[name]
        if isinstance(node, ast.Attribute):
            inside = self.of(node.value)
            return PARTS.get(node.attr, NOTHING) if INFO in inside else inside
        if isinstance(node, ast.Call):
            called = self._returned(node)
            return called if isinstance(called, frozenset) else _union(called)
        chosen = [node.body, node.orelse] if isinstance(node, ast.IfExp) else list(ast.iter_child_nodes(node))
        return _union(self.of(each) for each in chosen)

    def parts_of(self, node: ast.AST, count: int) -> list[Known]:
        """Of each of so many values that an expression is unpacked to."""
        if isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) == count:
            return [self.of(each) for each in node.elts]
        if isinstance(node, ast.IfExp):
            return _each(self.parts_of(node.body, count), self.parts_of(node.orelse, count))
        if isinstance(node, ast.Call):
            returned = self._returned(node)
            if isinstance(returned, list) and len(returned) == count:
                return returned
        return [NOTHING if isinstance(node, ast.Constant) else self.of(node)] * count

    def returned(self) -> Known | list[Known]:
        """What the function returns depends on: of each part where it returns several."""
        values = [node.value for node in ast.walk(self.tree) if isinstance(node, ast.Return) and node.value is not None]
        counts = {count for value in values if (count := _count(value)) is not None}
        if len(counts) != 1:
            return _union(self.of(value) for value in values)
        (count,) = counts
        found = [NOTHING] * count
        for value in values:
            found = _each(found, self.parts_of(value, count))
        return found

    def _assign(self, target: ast.AST, value: ast.AST) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for each, known in zip(target.elts, self.parts_of(value, len(target.elts)), strict=True):
                self._add(each, known)
        else:
            self._add(target, self.of(value))

    def _add(self, target: ast.AST, known: Known) -> None:
        name = _name(target)
        if name is not None:
            self._names[name] = self._names.get(name, NOTHING) | known

    def _returned(self, call: ast.Call) -> Known | list[Known]:
        name = (_name(call.func) or "").rpartition(".")[2]
        if name.endswith(ASKS):
            return frozenset({INFO})
        helper = self._function.__globals__.get(name)
        if self._calls and isinstance(helper, FunctionType) and helper is not self._function:
            found = Followed(helper, self._calls - 1).returned()
            if found:
                return found
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        inside = [*call.args, *(each.value for each in call.keywords), *([receiver] if receiver is not None else [])]
        return _union(self.of(each) for each in inside) - {INFO}


def _divisions(nodes: Iterator[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        if isinstance(node, ast.Call) and (_name(node.func) or "").rpartition(".")[2] in DIVIDING:
            yield ast.Tuple([*node.args, *(each.value for each in node.keywords)])
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            yield ast.Tuple([node.value, node.slice])
        elif isinstance(node, ast.Compare) and any(isinstance(each, ast.Mod) for each in ast.walk(node)):
            yield node


def _source(function: FunctionType) -> ast.AST:
    """Of its body; empty where there is no source that can be read."""
    with passing(OSError, TypeError, SyntaxError, ValueError, RecursionError):
        return ast.parse(textwrap.dedent(inspect.getsource(function)))
    return ast.Module([], [])


def _name(node: ast.AST) -> str | None:
    """``info``, ``self.info``, ``torch.utils.data.get_worker_info``."""
    if isinstance(node, ast.Attribute):
        owner = _name(node.value)
        return f"{owner}.{node.attr}" if owner is not None else f".{node.attr}"
    return node.id if isinstance(node, ast.Name) else None


def _is_text(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Mod) and _is_text(node.left)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr == "format"
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _count(value: ast.AST) -> int | None:
    """How many values it is, if that is written there."""
    if isinstance(value, ast.IfExp):
        return _count(value.body) or _count(value.orelse)
    return len(value.elts) if isinstance(value, ast.Tuple) else None


def _union(known: Iterator[Known] | list[Known]) -> Known:
    return NOTHING.union(*known)


def _each(some: list[Known], others: list[Known]) -> list[Known]:
    return [one | other for one, other in zip(some, others, strict=True)]
