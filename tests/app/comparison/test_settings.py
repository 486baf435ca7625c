"""Settings side by side: what differs, and what of it is known to matter for loading."""

from __future__ import annotations

from dataclasses import replace

from tests.app.comparison.made_side import described, made_side
from underfed_server.comparison.differences import settings_of
from underfed_server.comparison.side import labels_of


def test_settings_differ_by_value_and_by_kind() -> None:
    sides = [
        made_side("a", settings={"num_workers": 0, "drop_last": False, "pin_memory": True}),
        made_side("b", settings={"num_workers": False, "drop_last": False, "pin_memory": True}),
    ]
    found = {one.name: one for one in settings_of(sides) if one.group == "loader"}
    assert found["num_workers"].differs and found["num_workers"].values == [0, False]
    assert not found["drop_last"].differs and not found["pin_memory"].differs
    assert found["pin_memory"].matters and not found["drop_last"].matters


def test_what_one_run_has_and_the_other_has_not_stands_beside_nothing() -> None:
    sides = [made_side("a", config={"lr": 0.1}, tags={"team": "x"}), made_side("b", settings={"in_order": False})]
    found = {(one.group, one.name): one.values for one in settings_of(sides) if one.differs}
    assert found == {
        ("loader", "in_order"): [None, False],
        ("config", "lr"): [0.1, None],
        ("tags", "team"): ["x", None],
    }


def test_a_version_differs_only_where_both_are_known() -> None:
    sides = [made_side("a", cuda_version="13.0", cudnn_version="9.20.0"), made_side("b", cuda_version="12.8")]
    found = {one.name: one for one in settings_of(sides) if one.group == "software"}
    assert found["cuda"].differs and found["cuda"].values == ["13.0", "12.8"]
    assert not found["cudnn"].differs and found["cudnn"].values == ["9.20.0", None]


def test_those_that_matter_come_first_in_their_group() -> None:
    settings = settings_of([made_side("a", settings={"drop_last": True, "in_order": True})])
    matters = [one.matters for one in settings if one.group == "loader"]
    assert matters == [True, True, True, False]


def test_runs_that_share_a_name_are_distinguished_by_their_ids() -> None:
    ids = ["3f2a9c1b", "3f2a9c77", "resnet-1", "other"]
    names = ["resnet", "resnet", "resnet", "vit"]
    runs = [described(run_id, name=name) for run_id, name in zip(ids, names, strict=True)]
    assert labels_of(runs) == ["resnet (3f2a9c1)", "resnet (3f2a9c7)", "resnet-1", "vit"]


def test_a_run_of_whose_loader_nothing_is_known_does_not_make_every_setting_differ() -> None:
    sides = [made_side("a"), made_side("b"), replace(made_side("c"), run=described("c"))]
    assert [one.name for one in settings_of(sides) if one.differs] == []
    assert all(one.values[2] is None for one in settings_of(sides) if one.group == "loader")
