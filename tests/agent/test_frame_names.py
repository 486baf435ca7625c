"""Places in code are called as the program wrote them, without its source."""

from __future__ import annotations

import dis
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import pytest

from underfed.trainer.loading.frame_names import FrameNames, is_beginning, is_own, relative
from underfed.trainer.loading.instructions import called_at

names_calls = pytest.mark.skipif(sys.version_info < (3, 11), reason="this Python does not give places within a line")

photo = np.zeros((4, 4))


class Holder:
    make: Any = len

    def of_itself(self) -> None:
        self.make()


def dotted() -> None:
    np.random.rand(3)


def of_a_variable() -> None:
    image = photo
    image.astype("float32")


def of_a_result() -> None:
    photo.reshape(16).sum()


def plain() -> None:
    len("a word")


def within_arguments() -> None:
    np.stack([photo.copy() for _ in range(2)])


def with_names() -> None:
    np.zeros(shape=(2, 2))


def on_several_lines() -> None:
    (
        photo
        .reshape(16)
        .argsort()
    )  # fmt: skip


def of_an_item() -> None:
    functions = [len]
    functions[0]("a word")


def multiplied() -> None:
    photo * 2.0


def with_many_names() -> Any:
    """More than 256: an instruction's argument has several parts."""
    code = compile(
        "\n".join(["def many():", *(f"    photo.name_{index}" for index in range(300)), "    photo.copy()"]),
        "many.py",
        "exec",
    )
    space: dict[str, Any] = {}
    exec(code, space)
    return space["many"]


def last_call(code: CodeType) -> int:
    return [each.offset for each in dis.get_instructions(code) if each.opname.startswith("CALL")][-1]


@names_calls
@pytest.mark.parametrize(("function", "name"), [
    (dotted, "np.random.rand"), (of_a_variable, "astype"), (of_a_result, "sum"), (plain, "len"),
    (within_arguments, "np.stack"), (with_names, "np.zeros"), (on_several_lines, "argsort"), (of_an_item, None),
    (Holder.of_itself, "make"), (with_many_names(), "photo.copy"),
])  # fmt: skip
def test_a_function_in_c_is_called_as_it_is_called_there(function: Callable[..., Any], name: str | None) -> None:
    code = function.__code__
    assert called_at(code, last_call(code)) == name


@names_calls
def test_an_operator_is_named() -> None:
    (at,) = [each.offset for each in dis.get_instructions(multiplied) if each.opname == "BINARY_OP"]
    assert called_at(multiplied.__code__, at) == "operator *"


def test_what_is_no_call_has_no_name() -> None:
    assert called_at(plain.__code__, 0) is None
    assert called_at(plain.__code__, -1) is None


@pytest.mark.skipif(sys.version_info < (3, 11), reason="a function has no instruction of its own to begin with")
def test_the_beginning_of_a_function_is_recognised() -> None:
    assert is_beginning(plain.__code__, 0)
    assert not is_beginning(plain.__code__, last_call(plain.__code__))


def test_a_frame_has_function_file_and_line() -> None:
    names = FrameNames()
    frame = names.frame(Holder.of_itself.__code__, last_call(Holder.of_itself.__code__))
    first = Holder.of_itself.__code__.co_firstlineno
    assert frame.function == ("Holder.of_itself" if sys.version_info >= (3, 11) else "of_itself")
    assert (frame.file, frame.line) == ("tests/agent/test_frame_names.py", first + 1)
    assert names.frame(json.loads.__code__, 0).file == "json/__init__.py"


def test_equal_code_of_two_files_is_not_mistaken() -> None:
    one, other = (compile("len('')", path, "exec") for path in ("one.py", "other.py"))
    names = FrameNames()
    assert [names.frame(code, 0).file for code in (one, other)] == ["one.py", "other.py"]


@pytest.mark.parametrize(("path", "shown"), [
    ("/home/ada/project/.venv/lib/python3.11/site-packages/PIL/Image.py", "PIL/Image.py"),
    ("/home/ada/project/data/photos.py", "data/photos.py"),
    ("/usr/lib/python3.11/json/decoder.py", "json/decoder.py"),
    ("/home/grace/secret/tools/decode.py", "tools/decode.py"),
    ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>"),
])  # fmt: skip
def test_a_path_is_shown_from_where_it_is_imported(path: str, shown: str) -> None:
    roots = ["/home/ada/project/.venv/lib/python3.11/site-packages/", "/usr/lib/python3.11/", "/home/ada/project/"]
    assert relative(path, roots) == shown


@pytest.mark.parametrize(("path", "own"), [
    ("/home/ada/project/data.py", True), ("/home/ada/project/.venv/lib/python3.11/site-packages/PIL/Image.py", False),
    ("/usr/lib/python3.11/copy.py", False), ("/usr/lib/python3/dist-packages/numpy/core.py", False),
    ("/home/ada/shared/transforms.py", True), ("<ipython-input-3>", True), ("<frozen importlib._bootstrap>", False),
])  # fmt: skip
def test_code_of_the_project_is_distinguished_from_what_is_installed(
    path: str, own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", ["/home/ada/project", "/usr/lib/python3.11"])
    assert is_own(path) is own


def test_a_script_that_is_itself_installed_is_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/opt/lib/python3.11/site-packages/recipes/vision"])
    assert is_own("/opt/lib/python3.11/site-packages/recipes/vision/train.py")
    assert not is_own("/opt/lib/python3.11/site-packages/torchvision/io.py")


def test_a_relative_path_is_of_the_working_directory() -> None:
    assert relative("train.py", [f"{Path.cwd()}/"]) == "train.py"
