"""Room on the host, the plan that ranks share, and the files between training process and collector."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from underfed.collector.spool.transport import read_reply
from underfed.collector.unsent_facts import UnsentFacts
from underfed.exchange import tuning
from underfed.exchange.parts import write_part
from underfed.exchange.tuning import TrialBlock, TrialFacts, TuningFacts, read_proposed
from underfed.trainer.tuning.limits import BatchSize, Room, read_room, why_no_room
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.plan import Plan, Planned

GIB = 1 << 30
FOUR = LoaderSetting(4, 2)
AMPLE = Room(32 * GIB, 64 * GIB, 8 * GIB, 1000, 200 << 20)


@pytest.mark.parametrize(
    ("room", "batch", "why"),
    [
        (AMPLE, BatchSize(2, 50 << 20), None),
        (Room(), BatchSize(2, 50 << 20), None),
        (Room(2 * GIB, 16 * GIB, 8 * GIB, 1000, 200 << 20), BatchSize(2, 50 << 20), "MB of memory"),
        (Room(32 * GIB, 64 * GIB, 64 << 20, 1000, 200 << 20), BatchSize(2, 50 << 20), "of /dev/shm"),
        (Room(32 * GIB, 64 * GIB, 8 * GIB, 100, 200 << 20), BatchSize(2, 50 << 20), "files more"),
        (replace(AMPLE, file_bytes=60 << 20), BatchSize(2, 50 << 20), None),
        (replace(AMPLE, file_bytes=1 << 20), BatchSize(2, 50 << 20), "may have 1,048,576 bytes (ulimit -f)"),
        (replace(AMPLE, file_bytes=0), BatchSize(0, 0), "(ulimit -f)"),
    ],
)
def test_a_setting_is_tried_where_there_is_room_for_it(room: Room, batch: BatchSize, why: str | None) -> None:
    reason = why_no_room(FOUR, batch, room)
    assert (reason is None) == (why is None)
    assert why is None or why in str(reason)
    assert why_no_room(LoaderSetting(0), batch, room) is None


def test_the_room_of_this_host_is_known() -> None:
    room = read_room([])
    assert room.memory_bytes
    assert room.memory_total_bytes
    assert room.memory_bytes <= room.memory_total_bytes


def test_all_ranks_read_the_same_plan(tmp_path: Path) -> None:
    leads, follows = Plan(tmp_path / "plan"), Plan(tmp_path / "plan")
    present = LoaderSetting(0, in_order=False)
    assert follows.read(present) is None
    planned = Planned(70, LoaderSetting(3, 4, pin_memory=True, in_order=False, threads_per_worker=2), present)
    leads.write(planned)
    assert follows.read(present) == planned
    assert follows.read(present) is None
    end = Planned(90, present, present, is_end=True)
    leads.write(end)
    assert follows.read(present) == end


def test_what_changes_with_the_number_of_workers_goes_with_it() -> None:
    two = LoaderSetting(0).changed({"num_workers": 2, "persistent_workers": True, "in_order": False})
    assert two == LoaderSetting(2, 2)
    assert two.changed({"num_workers": 0}) == LoaderSetting(0)
    assert two.difference(two.changed({"prefetch_factor": 4})) == {"prefetch_factor": (2, 4)}
    assert LoaderSetting(0).difference(two) == {"num_workers": (0, 2)}


FACTS = TuningFacts(
    loader="train",
    status=tuning.WAITING,
    began_with={"num_workers": 0},
    reason="for candidates",
    trials=[TrialFacts(0, 0, {"num_workers": 0}, 12, kept=False, blocks=[TrialBlock(3, 12, 5, 9)])],
)


def test_the_collector_sends_what_was_tried_and_again_while_it_waits(tmp_path: Path) -> None:
    unsent = UnsentFacts(tmp_path)
    assert unsent.take_tuning() == []
    write_part(tmp_path / tuning.FILE, FACTS)
    unsent.read()
    assert unsent.has_new_tuning
    assert [unsent.take_tuning(), unsent.take_tuning()] == [[FACTS], [FACTS]]
    write_part(tmp_path / tuning.FILE, TuningFacts("train", tuning.KEPT, {"num_workers": 0}))
    unsent.read()
    assert [each.status for each in unsent.take_tuning()] == [tuning.KEPT]
    assert unsent.take_tuning() == []
    unsent.send_again()
    assert unsent.take_tuning() != []


def test_what_the_service_proposes_comes_with_its_answer(tmp_path: Path) -> None:
    proposed = [{"loader": "train", "settings": {"num_workers": 0}, "candidates": [{"settings": {"num_workers": 3}}]}]
    reply = read_reply(200, json.dumps({"next_window_index": 3, "tuning": proposed}).encode(), None)
    assert reply.tuning == proposed
    assert read_reply(200, b'{"next_window_index": 3}', None).tuning is None
    path = str(tmp_path / tuning.PROPOSED)
    assert read_proposed(path, "train") is None
    write_part(tmp_path / tuning.PROPOSED, proposed)
    found = read_proposed(path, "train")
    assert found is not None
    assert list(found.candidates) == [{"settings": {"num_workers": 3}}]
    assert read_proposed(path, "val") is None
    Path(path).write_text("[")
    assert read_proposed(path, "train") is None
