"""A change of settings in the program's own call of ``DataLoader``: its lines, with the arguments replaced or added.

What comes out is parsed again: but for the changed arguments it is the same call, else nothing is changed.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

Arguments = Mapping[str, str | None]
"""Source of arguments of the call by their names; ``None``: not given."""

POSITIONS = (
    "dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory",
    "drop_last", "timeout", "worker_init_fn", "multiprocessing_context", "generator",
)  # fmt: skip
"""Of ``DataLoader.__init__``, whose other parameters are given by name alone."""

TAKES_ALL = ("DataLoader", "StatefulDataLoader")
"""Classes known to take every argument of ``DataLoader``."""

OWN_FUNCTIONS = ("worker_init_fn",)
"""What the program gave there is needed beside what is advised."""


class NotChangedError(Exception):
    """The message, a clause, says why the program's own lines cannot be changed."""


@dataclass(frozen=True, slots=True)
class ChangedCall:
    source: str
    set_elsewhere: str | None = None
    """Where the program gets a value from that was replaced, so that it is to be changed there."""


@dataclass(frozen=True, slots=True)
class _Argument:
    node: ast.expr
    name: str | None
    """``None``: ``*values`` or ``**values``."""
    begins: int
    ends: int
    is_keyword: bool


def change_call(source: str, wanted: Arguments) -> ChangedCall:
    """``source``: a statement that is the call and what it is assigned to, or the call alone.

    Raises:
        NotChangedError: it cannot be changed so that only these arguments differ.
    """
    known = _arguments(source)
    call, packed = _call_of(source), any(each.name is None for each in known)
    # What is not given cannot be left out.
    asked = [name for name, value in wanted.items() if value is not None or packed]
    why_not = next((why for name in asked if (why := _why_not(known, call, name)) is not None), None)
    if why_not is not None:
        raise NotChangedError(why_not)
    elsewhere = [why for each in known if wanted.get(each.name or "") and (why := _set_elsewhere(each)) is not None]
    try:
        changed = _changed(source, wanted)
    except NotChangedError:
        raise NotChangedError("its lines cannot be changed safely") from None
    return ChangedCall(changed, "; ".join(elsewhere) or None)


def _changed(source: str, wanted: Arguments) -> str:
    """Parsed again, each argument is there once, with the value that is wanted, and all else is as it was."""
    changed = source
    for name, value in wanted.items():
        changed = _with_argument(changed, name, value)
    if _values(changed) != _wanted_values(source, wanted) or _around(source) != _around(changed):
        raise NotChangedError
    return changed


def written(source: str) -> dict[str, object]:
    """The arguments whose value is a literal in the call.

    Raises:
        NotChangedError: it is no call that can be read.
    """
    found: dict[str, object] = {}
    for each in _arguments(source):
        if each.name is not None and isinstance(each.node, ast.Constant):
            found[each.name] = each.node.value
    return found


def packed_in(source: str, names: Collection[str]) -> str | None:
    """The ``options`` of ``**options``, where they are what may hold these arguments and can be assigned to.

    Raises:
        NotChangedError: it is no call that can be read.
    """
    known = _arguments(source)
    packed = [each.node for each in known if each.name is None and each.is_keyword]
    is_given = any(each.name in names for each in known)
    if is_given or len(packed) != 1 or not isinstance(packed[0], ast.Name | ast.Attribute | ast.Subscript):
        return None
    return ast.unparse(packed[0])


def _why_not(known: list[_Argument], call: ast.Call, name: str) -> str | None:
    given = next((each for each in known if each.name == name), None)
    if given is not None:
        is_own = name in OWN_FUNCTIONS and not _is_none(given.node)
        return f"the call has a {name} of its own, which is needed too" if is_own else None
    packed = next((each for each in known if each.name is None), None)
    if packed is not None:
        stars = "**" if packed.is_keyword else "*"
        return f"the call takes its arguments from {stars}{ast.unparse(packed.node)}, which may hold {name}"
    called = ast.unparse(call.func).rpartition(".")[2]
    return None if called in TAKES_ALL else f"{called} is a class of the program's own, which may not take {name}"


def _set_elsewhere(argument: _Argument) -> str | None:
    """A value that a variable or a configuration holds; a call such as ``os.cpu_count()`` holds none."""
    parts = list(ast.walk(argument.node))
    called = {id(part) for each in parts if isinstance(each, ast.Call) for part in ast.walk(each.func)}
    is_variable = any(isinstance(each, ast.Name) and id(each) not in called for each in parts)
    return f"{argument.name} is {ast.unparse(argument.node)} here" if is_variable else None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _with_argument(source: str, name: str, value: str | None) -> str:
    known = _arguments(source)
    given = next((each for each in known if each.name == name), None)
    if given is None:
        return source if value is None else _added(source, known, f"{name}={value}")
    if value is None and given.is_keyword:
        return _removed(source, known, given)
    text = f"{name}={value}" if given.is_keyword else value or _not_given(name)
    return source[: given.begins] + text + source[given.ends :]


def _added(source: str, known: list[_Argument], text: str) -> str:
    """Before the closing bracket: on a line of its own where the last argument begins one, with a comma after it where
    that has one."""
    closing = _offset(source, _call_of(source).end_lineno, _call_of(source).end_col_offset) - 1
    if not known:
        return source[:closing] + text + source[closing:]
    last = known[-1]
    after = source[last.ends : closing]
    has_comma = "," in _without_comments(after)
    at = last.ends + after.index(",") + 1 if has_comma else last.ends
    line = source.rfind("\n", 0, last.begins) + 1
    indent = source[line : last.begins]
    is_own_line = line > 0 and not indent.strip()
    comma = "" if has_comma else ","
    if not is_own_line:
        return f"{source[:at]}{comma} {text}{source[at:]}"
    # A comment stays beside the argument that it is about.
    end_of_line = source.find("\n", at, closing)
    end_of_line = closing if end_of_line < 0 else end_of_line
    kept, below = source[at:end_of_line].rstrip(), source[end_of_line:]
    ending = "," if has_comma or end_of_line < closing else ""
    return f"{source[:at]}{comma}{kept}\n{indent}{text}{ending}{below}"


def _removed(source: str, known: list[_Argument], argument: _Argument) -> str:
    """With its line where it has that to itself, else with the comma before or after it."""
    line, after = source.rfind("\n", 0, argument.begins) + 1, source.find("\n", argument.ends)
    beside = _without_comments(source[argument.ends : after]).strip() if after >= 0 else ")"
    if line > 0 and not source[line : argument.begins].strip() and beside in ("", ","):
        return source[:line] + source[after + 1 :]
    place = known.index(argument)
    if place + 1 < len(known):
        return source[: argument.begins] + source[known[place + 1].begins :]
    if place > 0:
        return source[: known[place - 1].ends] + source[argument.ends :]
    return source[: argument.begins] + source[argument.ends :]


def _without_comments(text: str) -> str:
    return "\n".join(line.partition("#")[0] for line in text.split("\n"))


def _wanted_values(source: str, wanted: Arguments) -> dict[str, str]:
    before = _values(source)
    expected = {name: value for name, value in before.items() if name not in wanted}
    for name, value in wanted.items():
        if value is not None or (name in before and not _is_keyword(source, name)):
            expected[name] = ast.dump(ast.parse(value or _not_given(name), mode="eval").body)
    return expected


def _not_given(name: str) -> str:
    """What torch takes where a positional argument is not given."""
    return "0" if name == "timeout" else "None"


def _is_keyword(source: str, name: str) -> bool:
    return any(each.is_keyword for each in _arguments(source) if each.name == name)


def _values(source: str) -> dict[str, str]:
    return {
        each.name or f"{'**' if each.is_keyword else '*'}{place}": ast.dump(each.node)
        for place, each in enumerate(_arguments(source))
    }


def _around(source: str) -> str:
    """The statement without the call's arguments."""
    statement = _statement(source)
    call = _call_in(statement)
    call.args, call.keywords = [], []
    return ast.dump(statement)


def _arguments(source: str) -> list[_Argument]:
    """In the order of the source."""
    call = _call_of(source)
    found = [_positional(source, each, place, call) for place, each in enumerate(call.args)]
    for each in call.keywords:
        begins = _offset(source, each.lineno, each.col_offset)
        ends = _offset(source, each.end_lineno, each.end_col_offset)
        found.append(_Argument(each.value, each.arg, begins, ends, is_keyword=True))
    names = [each.name for each in found if each.name is not None]
    if len(names) != len(set(names)):
        raise NotChangedError("an argument is given twice")
    return sorted(found, key=lambda each: each.begins)


def _positional(source: str, node: ast.expr, place: int, call: ast.Call) -> _Argument:
    """Those after ``*values`` have no place that is known."""
    is_known = place < len(POSITIONS) and not any(isinstance(each, ast.Starred) for each in call.args[: place + 1])
    if not is_known and not isinstance(node, ast.Starred) and place >= len(POSITIONS):
        raise NotChangedError("the call has more arguments than DataLoader")
    begins = _offset(source, node.lineno, node.col_offset)
    ends = _offset(source, node.end_lineno, node.end_col_offset)
    value = node.value if isinstance(node, ast.Starred) else node
    return _Argument(value, POSITIONS[place] if is_known else None, begins, ends, is_keyword=False)


def _call_of(source: str) -> ast.Call:
    return _call_in(_statement(source))


def _statement(source: str) -> ast.stmt:
    try:
        (statement,) = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NotChangedError("its source is no single statement") from None
    return statement


def _call_in(statement: ast.stmt) -> ast.Call:
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.Call):
        raise NotChangedError("its source is no call")
    return value


def _offset(source: str, line: int | None, column: int | None) -> int:
    """Columns of a syntax tree count bytes."""
    lines = source.split("\n")
    before = sum(len(each) + 1 for each in lines[: (line or 1) - 1])
    return before + len(lines[(line or 1) - 1].encode()[: column or 0].decode())


def diff_lines(before: str, after: str) -> Iterator[str]:
    """Each line with its mark."""
    old, new = before.split("\n"), after.split("\n")
    for kind, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from (f" {line}" for line in old[old_from:old_to])
        else:
            yield from (f"-{line}" for line in old[old_from:old_to])
            yield from (f"+{line}" for line in new[new_from:new_to])
