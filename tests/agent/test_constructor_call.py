"""The call that constructed a loader: found by its line, read by the collector, and nothing else of the program."""

from __future__ import annotations

import ast
import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader

import underfed
from tests.fakes.datasets import Busy
from tests.fakes.forkserver import python
from tests.fakes.launching import run_under
from tests.fakes.service import Service, wait_until
from underfed.collector.reading.constructor_call import ConstructorCall, read_call
from underfed.exchange.facts import SourceLine
from underfed.trainer import control
from underfed.trainer.call_sites import Site
from underfed.trainer.settings.constructions import source_line

pytestmark = pytest.mark.usefixtures("read_source")

SOURCE = """\
import torch
from torch.utils.data import DataLoader as Loader, DataLoader

class Data:
    def train(self):
        if self.ready:
            return torch.utils.data.DataLoader(
                Pictures("/home/ada/secret", f"{self.user}:{b'key'}"),  # the password is hunter2
                multiprocessing_context="spawn",
                num_workers=2)

def main(train):
    loader = Loader(train, num_workers=1, generator='{}')
    loader = underfed.watch(loader)
    for first in DataLoader(train, 4): pass
    pair = DataLoader(train), DataLoader(train)
    other = make(train)
    underfed.watch(other)
    underfed.watch(DataLoader(train, batch_size=7), name="x")
"""


def line_of(path: Path, **known: Any) -> SourceLine:
    usual = {"shown": "src/train.py", "is_constructor": True, "file": str(path), "modified_ns": path.stat().st_mtime_ns}
    return SourceLine("DataLoader", **{**usual, **known})


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(SOURCE)
    return path


@pytest.mark.parametrize(
    ("line", "is_constructor", "call"),
    [
        (7, True, ConstructorCall(
            "src/train.py:7",
            'return torch.utils.data.DataLoader(\n    Pictures("…", "…"),  # …\n'
            '    multiprocessing_context="spawn",\n    num_workers=2)')),
        (13, True, ConstructorCall("src/train.py:13", 'loader = Loader(train, num_workers=1, generator="…")')),
        (14, False, ConstructorCall("src/train.py:13", 'loader = Loader(train, num_workers=1, generator="…")')),
        (15, True, ConstructorCall("src/train.py:15", "DataLoader(train, 4)")),
        (19, False, ConstructorCall("src/train.py:19", "DataLoader(train, batch_size=7)")),
        (16, True, ConstructorCall("src/train.py:16", None, "several loaders are constructed in that line")),
        (17, True, ConstructorCall("src/train.py:17", None, "no call of DataLoader stands in that line")),
        (18, False, ConstructorCall(None, None, "which call constructed it is not certain")),
    ],
)  # fmt: skip
def test_a_call_is_reported_without_what_is_in_quotes_and_comments(
    program: Path, line: int, is_constructor: bool, call: ConstructorCall
) -> None:
    assert read_call(line_of(program, line=line, is_constructor=is_constructor)) == call


def test_only_call_of_a_file_is_the_one_that_is_watched(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("loaders = {'train': DataLoader(d)}\nunderfed.watch(loaders['train'])\n")
    found = read_call(line_of(path, line=2, is_constructor=False))
    assert found == ConstructorCall("src/train.py:1", "DataLoader(d)")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("DataLoader(\n" + "    d,\n" * 12 + ")", "longer than 12 lines"),
        (f"DataLoader({'d' * 1_000})", "1,000 characters"),
        ("DataLoader(", "SyntaxError"),
        ("é = 1".encode("latin-1").decode("latin-1") + "\0", "its file cannot be read"),
        ("x = 1\n" * 100_000, "larger than is read"),
    ],
)
def test_a_call_that_cannot_be_reported_has_its_reason(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "train.py"
    path.write_text(text)
    found = read_call(line_of(path, line=1))
    assert found.text is None and why in str(found.why_not)


def test_a_file_that_was_written_since_is_not_what_runs(program: Path) -> None:
    before = line_of(program, line=7)
    os.utime(program, ns=(1, before.modified_ns or 0 + 1))
    os.utime(program, (1, 1))
    assert read_call(before).why_not == "its file was changed since the loader was constructed"
    program.unlink()
    assert "FileNotFoundError" in str(read_call(before).why_not)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0\\"), max_size=8).map(
    lambda text: f"s3cret{text}"
)


@given(
    TEXTS, TEXTS, st.sampled_from(["'", '"', '"""']), st.sampled_from(["", "b", "f", "r"]), st.sampled_from(["é", "a"])
)
def test_no_text_of_the_program_is_reported(text: str, comment: str, quote: str, prefix: str, name: str) -> None:
    literal = prefix + quote + text.replace(quote[0], "").replace("{", "").replace("}", "") + quote
    source = f"{name} = DataLoader(\n    d[{literal}], x={literal} + {name},  # {comment}\n    num_workers=0)\n"
    if prefix == "b" and not literal.isascii():
        return
    path = Path(os.environ["UNDERFED_DIR"]).parent / "program.py"
    path.write_text(source)
    reported = read_call(line_of(path, line=1)).text
    assert reported is not None and "s3cret" not in reported
    assert [each.arg for each in ast.walk(ast.parse(reported)) if isinstance(each, ast.keyword)] == ["x", "num_workers"]


# --- in the training process ------------------------------------------------------------------------


class Own(DataLoader[Any]):
    def __init__(self, dataset: Any, **options: Any) -> None:
        super().__init__(dataset, **options)


@pytest.fixture
def constructed(guest: None) -> Iterator[Any]:
    """Where a loader was constructed, while anything is recorded."""
    underfed.watch(DataLoader(Busy(1)))
    hooks = control._state.hooks
    assert hooks is not None
    yield hooks._callbacks.constructions.site_of
    underfed.finish()


def here() -> int:
    return sys._getframe(1).f_lineno


def test_the_line_is_that_of_the_call_also_of_a_subclass(constructed: Any) -> None:
    plain, line = DataLoader(Busy(1)), here()
    own = Own(Busy(1), batch_size=2)
    assert constructed(plain) == Site(__file__, line, None)
    assert constructed(own) == Site(__file__, line + 1, None)
    assert constructed(object()) is None


def framework(directory: Path, package: str = "trainers") -> Any:
    """A package that constructs loaders, as Lightning and the Trainer do."""
    path = directory / "site-packages" / package / "data.py"
    namespace: dict[str, Any] = {"DataLoader": DataLoader, "__name__": f"{package}.data"}
    code = "def again(loader):\n    return DataLoader(loader.dataset, collate_fn=loader.collate_fn)\n"
    code += "def create(dataset):\n    return DataLoader(dataset)\n"
    exec(compile(code, str(path), "exec"), namespace)
    return namespace


def test_a_loader_that_a_framework_made_from_one_has_that_ones_line(constructed: Any, tmp_path: Path) -> None:
    trainers, dataset = framework(tmp_path), Busy(1)
    created = trainers["create"](dataset)
    assert constructed(created).package == "trainers"
    assert constructed(framework(tmp_path, "prepare")["again"](created)).package == "trainers", (
        "it decides the settings"
    )
    own, line = DataLoader(dataset), here()
    assert constructed(trainers["again"](own)) == Site(__file__, line, None)
    assert constructed(trainers["again"](DataLoader(Busy(1), collate_fn=list))).line == here()
    found = source_line(own, Site("/x/site-packages/trainers/data.py", 2, "trainers"), None, {})
    assert (found.package, found.file, found.why_not) == ("trainers", None, "trainers constructed the loader")


def test_code_that_is_in_no_file_is_only_said_to_be(constructed: Any, tmp_path: Path) -> None:
    archive = tmp_path / "code.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr("zipped.py", "def make(kind, data):\n    return kind(data)\n")
    namespace: dict[str, Any] = {"DataLoader": DataLoader, "data": Busy(1)}
    for file in ("<stdin>", "<string>", "<frozen app>", f"{archive}/zipped.py", "/tmp/ipykernel_7/123.py"):
        exec(compile("\nloader = DataLoader(data)", file, "exec"), namespace)
        found = source_line(namespace["loader"], constructed(namespace["loader"]), None, {})
        assert (found.file, found.line) == (None, 2)
        assert read_call(found).why_not == "it is in no file, as in a notebook, an archive or a prompt"


def test_reading_can_be_switched_off(program: Path) -> None:
    found = source_line(DataLoader(Busy(1)), Site(str(program), 7, None), None, {"UNDERFED_SEND_SOURCE": "0"})
    assert read_call(found) == ConstructorCall("train.py:7", None, "UNDERFED_SEND_SOURCE=0")


def test_no_path_outside_the_program_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "data.py").write_text("DataLoader(d)\n")
    inside = source_line(DataLoader(Busy(1)), Site("src/data.py", 1, None), None, {})
    assert (inside.shown, inside.file) == ("src/data.py", str(tmp_path / "src" / "data.py"))
    assert read_call(inside) == ConstructorCall("src/data.py:1", "DataLoader(d)")
    monkeypatch.chdir(tmp_path / "src" / "..")
    assert source_line(DataLoader(Busy(1)), Site("/etc/hostname", 1, None), None, {}).shown == "hostname"


def test_what_fails_in_it_is_counted_and_the_loader_is_constructed(
    constructed: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("UNDERFED_STRICT")
    hooks = control._state.hooks
    monkeypatch.setattr(hooks._callbacks, "constructions", None)  # type: ignore[union-attr]
    assert len(DataLoader(Busy(3))) == 3
    assert underfed.watch(DataLoader(Busy(1)), name="other") is not None


# --- through underfed run ---------------------------------------------------------------------------

DATA = """\
from torch.utils.data import DataLoader

def train_loader(dataset, workers):
    return DataLoader(
        dataset,
        batch_size=2,
        num_workers=workers,  # of the machine
    )
"""
TRAIN = """\
from data import train_loader
from tests.fakes.datasets import Busy

for epoch in range(2):
    for batch in train_loader(Busy(8), 0):
        pass
"""


def loaders(service: Service) -> list[dict[str, Any]]:
    return [each for window in service.windows for each in window["loaders"]]


@pytest.mark.parametrize("sends", ["1", pytest.param("0", marks=pytest.mark.soak)])
def test_a_program_that_is_not_changed_is_read_where_it_constructs(
    service: Service, tmp_path: Path, sends: str
) -> None:
    (tmp_path / "data.py").write_text(DATA)
    (tmp_path / "train.py").write_text(TRAIN)
    done = run_under(
        "--", python(), str(tmp_path / "train.py"), variables={"UNDERFED_SEND_SOURCE": sends}, cwd=str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    wait_until(service.ends, "the end arrives")
    loader = loaders(service)[-1]
    assert loader["constructed_at"] == "data.py:4" and "source" not in loader
    if sends == "0":
        assert "constructor_call" not in loader
        assert loader["not_measured"]["constructor_call"] == "UNDERFED_SEND_SOURCE=0"
    else:
        assert loader["constructor_call"] == (
            "return DataLoader(\n    dataset,\n    batch_size=2,\n    num_workers=workers,  # …\n)"
        )
