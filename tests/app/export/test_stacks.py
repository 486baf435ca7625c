"""What was seen to be executed, as flame graphs read it.

``speedscope.schema.json`` is speedscope's own, of its npm package 1.25.0 (MIT licence, Jamie Wong).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.app.made_windows import made_window
from tests.app.store.posting import post
from tests.fakes.looks import evenly
from underfed_server.store.store import Store

SCHEMA: dict[str, Any] = json.loads(Path(__file__).with_name("speedscope.schema.json").read_text())

FRAMES = [
    {"function": "Photos.__getitem__", "file": "data.py", "line": 41, "is_own": True},
    {"function": "Image.resize", "file": "PIL/Image.py", "line": 2440},
    {"function": "<lambda>; odd", "file": "train.py"},
]
STACKS = [
    {"stage": "getitem", "frames": [0], "samples": evenly(25)},
    {"stage": "getitem", "frames": [0, 1], "samples": evenly(60)},
    {"stage": "collate", "frames": [], "samples": evenly(15)},
    {"stage": "step", "frames": [2], "samples": evenly(7)},
]
LOADERS = [{"loader": "train", "settings": {}}, {"loader": "val", "settings": {}}]
STARTED = made_window(0, loaders=LOADERS, stacks=[{"loader": "train", "frames": FRAMES, "stacks": STACKS}])
OTHER = {"loader": "val", "frames": FRAMES[:1], "stacks": [{"stage": "getitem", "frames": [0], "samples": evenly(3)}]}


def errors(value: Any, schema: dict[str, Any]) -> list[str]:
    """Of the part of JSON schema that speedscope's uses."""
    if "$ref" in schema:
        return errors(value, SCHEMA["definitions"][schema["$ref"].removeprefix("#/definitions/")])
    if "anyOf" in schema:
        tried = [errors(value, one) for one in schema["anyOf"]]
        return [] if [] in tried else min(tried, key=len)
    kinds: dict[str, Any] = {"object": dict, "array": list, "string": str, "number": (int, float)}
    found = [] if "type" not in schema or isinstance(value, kinds[schema["type"]]) else [f"{value!r}: {schema['type']}"]
    found += [f"{value!r}: {schema['const']}"] if value != schema.get("const", value) else []
    found += [f"{value!r}: {schema['enum']}"] if value not in schema.get("enum", [value]) else []
    if isinstance(value, dict):
        found += [f"{name} is missing" for name in schema.get("required", []) if name not in value]
        for name, part in schema.get("properties", {}).items():
            found += errors(value[name], part) if name in value else []
    if isinstance(value, list):
        found += [error for each in value for error in errors(each, schema["items"])]
    return found


def exported(client: TestClient, kind: str) -> Any:
    answer = client.get(f"/api/v1/runs/run-1/export?format={kind}")
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="run-1.')
    return answer


def test_speedscope_reads_what_is_written_for_it(client: TestClient, store: Store) -> None:
    post(store, [STARTED, made_window(1, stacks=[OTHER])])
    file = exported(client, "speedscope").json()
    assert errors(file, {"$ref": "#/definitions/FileFormat.File"}) == []
    assert [(one["name"], one["endValue"]) for one in file["profiles"]] == [
        ("train: loading", 100), ("train: between batches (sampled 7 times, too few for shares)", 7),
        ("val: loading (sampled 3 times, too few for shares)", 3),
    ]  # fmt: skip
    for profile in file["profiles"]:
        assert sum(profile["weights"]) == profile["endValue"] - profile["startValue"]
        assert len(profile["weights"]) == len(profile["samples"])
        assert max(max(stack) for stack in profile["samples"]) < len(file["shared"]["frames"])
    names = [file["shared"]["frames"][place] for place in file["profiles"][0]["samples"][0]]
    assert [frame["name"] for frame in names] == ["getitem", "Photos.__getitem__", "Image.resize"]
    assert (names[2]["file"], names[2]["line"]) == ("PIL/Image.py", 2440)


@pytest.mark.parametrize(("part", "wrong"), [("unit", "hours"), ("samples", [["a"]]), ("endValue", "late")])
def test_the_check_finds_what_speedscope_would_not_read(
    client: TestClient, store: Store, part: str, wrong: Any
) -> None:
    post(store, [STARTED])
    file = exported(client, "speedscope").json()
    file["profiles"][0][part] = wrong
    assert errors(file, {"$ref": "#/definitions/FileFormat.File"}) != []


def test_collapsed_stacks_have_one_line_each(client: TestClient, store: Store) -> None:
    post(store, [STARTED, made_window(1, stacks=[OTHER])])
    assert exported(client, "collapsed").text.splitlines() == [
        "train;getitem;Photos.__getitem__ (data.py:41);Image.resize (PIL/Image.py:2440) 60",
        "train;getitem;Photos.__getitem__ (data.py:41) 25",
        "train;collate;(stacks that were seen seldom) 15",
        "train;between batches;<lambda>, odd (train.py) 7",
        "val;getitem;Photos.__getitem__ (data.py:41) 3",
    ]


@pytest.mark.parametrize("kind", ["collapsed", "speedscope"])
def test_of_a_run_that_was_not_sampled_the_reason_is_said(client: TestClient, store: Store, kind: str) -> None:
    off = {"project": "vision", "name": "resnet", "not_measured": {"hotspots": "switched off by UNDERFED_STACKS=0"}}
    post(store, [made_window(0, run=off, loaders=LOADERS)])
    answer = client.get(f"/api/v1/runs/run-1/export?format={kind}")
    assert answer.status_code == 422
    assert answer.json()["error"]["message"].endswith("executes: switched off by UNDERFED_STACKS=0")
