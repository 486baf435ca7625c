"""Options: arguments before the environment, and what cannot be used is refused by name before training starts."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from underfed.errors import ConfigError, UnderfedError
from underfed.exchange.config import Config, data_directory, is_disabled, read_config, read_tags, script_name


def read(environ: dict[str, str] | None = None, **arguments: Any) -> Config:
    return read_config(environ or {}, **arguments)


def test_arguments_win_over_the_environment() -> None:
    environ = {"UNDERFED_PROJECT": "vision", "UNDERFED_NAME": "resnet", "UNDERFED_TAGS": "team=a, try = 2"}
    assert (read(environ).project, read(environ).name) == ("vision", "resnet")
    assert read(environ).tags == {"team": "a", "try": "2"}
    chosen = read(environ, project="nlp", name="bert", tags={"x": "y"})
    assert (chosen.project, chosen.name, chosen.tags) == ("nlp", "bert", {"x": "y"})


def test_there_is_a_default_for_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    program = ModuleType("__main__")
    program.__file__ = "/home/ada/train.py"
    monkeypatch.setitem(sys.modules, "__main__", program)
    config = read()
    assert (config.project, config.name, config.url) == ("default", "train", "http://127.0.0.1:7077")
    assert (config.tags, config.config, config.run_id) == ({}, {}, None)


def test_push_is_told_where_to_only_if_it_would_not_know() -> None:
    assert read().push_command == "underfed push"
    elsewhere = read({"UNDERFED_URL": "http://gpu-7:7077/a&b"})
    assert elsewhere.push_command == "UNDERFED_URL='http://gpu-7:7077/a&b' underfed push"


@pytest.mark.parametrize(
    ("file", "name"),
    [("/a/train.py", "train"), ("/a/pkg/__main__.py", "pkg"), (None, "python"), ("train.tar.py", "train.tar")],
)
def test_a_run_is_named_after_its_program(file: str | None, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = ModuleType("__main__")
    program.__file__ = file
    monkeypatch.setitem(sys.modules, "__main__", program)
    assert script_name() == name


@pytest.mark.parametrize(
    ("environ", "arguments", "message"),
    [
        ({}, {"project": 3}, "project: expected text, got int"),
        ({}, {"name": "a\nb"}, "name: at most 200 printable characters"),
        ({}, {"name": "x" * 201}, "name: at most 200"),
        ({}, {"tags": {"a": 1}}, "tags['a']: expected text"),
        ({}, {"tags": ["a"]}, "tags: expected a mapping"),
        ({}, {"tags": {1: "a"}}, "tags: expected text of at most 200 characters as key"),
        ({}, {"config": {"lr": float("nan")}}, "config['lr']"),
        ({}, {"config": {"seed": 2**60}}, "config['seed']"),
        ({}, {"config": ["lr"]}, "config: expected a mapping of at most 200 entries, got list"),
        ({}, {"config": {"model": {"depth": {3}}}}, "config['model.depth']: expected a finite number"),
        ({"UNDERFED_TAGS": "=vision"}, {}, "UNDERFED_TAGS: '=vision' has no key"),
        ({"UNDERFED_URL": "localhost:7077"}, {}, "UNDERFED_URL: 'localhost:7077'"),
        ({"UNDERFED_URL": "ftp://host"}, {}, "UNDERFED_URL"),
        ({"UNDERFED_URL": "http://host:port"}, {}, "UNDERFED_URL"),
        ({"UNDERFED_URL": "http://user:word@host"}, {}, "UNDERFED_URL"),
        ({"UNDERFED_RUN_ID": "a/b"}, {}, "UNDERFED_RUN_ID: 'a/b'"),
        ({"UNDERFED_RUN_ID": "x" * 65}, {}, "UNDERFED_RUN_ID"),
    ],
)
def test_what_cannot_be_used_is_named(environ: dict[str, str], arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        read(environ, **arguments)


def test_a_wrong_option_is_a_value_error_too() -> None:
    assert issubclass(ConfigError, ValueError)
    assert issubclass(ConfigError, UnderfedError)


def test_a_config_within_a_config_is_flat() -> None:
    given: dict[str, Any] = {"opt": {"name": "sgd", "betas": (0.9, 0.99)}, "lr": 0.1}
    assert read(config=given).config == {"opt.name": "sgd", "opt.betas": "(0.9, 0.99)", "lr": 0.1}
    given["all"] = given
    assert len(read(config=given).config) < 50


def test_config_takes_numbers_text_truth_and_nothing() -> None:
    values = {"lr": 0.1, "layers": 50, "name": "x", "amp": True, "seed": None}
    assert read(config=values).config == values


def test_an_address_may_have_a_path_and_loses_its_last_slash() -> None:
    assert read({"UNDERFED_URL": "https://host/underfed/"}).url == "https://host/underfed"


@pytest.mark.parametrize(("value", "is_off"), [("1", True), ("true", True), ("0", False), ("", False)])
def test_one_variable_switches_everything_off(value: str, is_off: bool) -> None:
    assert is_disabled({"UNDERFED_DISABLED": value}) is is_off


def test_data_lie_where_the_environment_says() -> None:
    assert data_directory({"UNDERFED_DIR": "/data/u"}) == Path("/data/u")
    assert data_directory({"XDG_DATA_HOME": "/xdg"}) == Path("/xdg/underfed")
    assert data_directory({}) == Path.home() / ".local/share/underfed"


def test_tags_may_hold_equals_signs_and_have_no_value() -> None:
    assert read_tags("a=b=c,,d=,debug") == {"a": "b=c", "d": "", "debug": ""}


def test_without_a_home_data_lie_where_temporary_files_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    assert data_directory({}) == Path(f"/tmp/underfed-{os.getuid()}")
    assert data_directory({"TMPDIR": "/scratch"}) == Path(f"/scratch/underfed-{os.getuid()}")
    assert data_directory({"XDG_DATA_HOME": "/data"}) == Path("/data/underfed")
    assert data_directory({"UNDERFED_DIR": "/mine"}) == Path("/mine")
