"""What runs show each other of the storage that they read from."""

from __future__ import annotations

from tests.app.store.posting import post
from tests.scenarios.pipelines.synthetic import storage_limit
from underfed_server.diagnose import Diagnoser
from underfed_server.diagnosis.sentence import size
from underfed_server.model import Diagnosis
from underfed_server.store.store import Store

SHARE = {"mount": "/data", "file_system": "nfs4", "device": "filer:/export", "kind": "network", "files_seen": 90}


def judged(store: Store, run_id: str) -> Diagnosis:
    """A run of eight readers that share a rate, on a share of the network."""
    first, *others = storage_limit.windows("clear", run_id)
    loader = first["loaders"][0]["loader"]
    post(store, [first | {"storage": [SHARE | {"loader": loader}]}, *others])
    Diagnoser()(store, run_id)
    found = store.diagnosis(run_id)
    assert found is not None
    return found


def test_what_another_run_read_from_the_same_share_is_shown(store: Store) -> None:
    first, second = judged(store, "first"), judged(store, "second")
    assert first.read_rate is not None and first.read_rate.is_limited
    assert first.read_rate.place == "filer:/export"
    assert "other run" not in first.causes[0].sentence
    assert second.causes[0].cause == "storage_limit"
    assert f"One other run read {size(first.read_rate.bytes_per_s)}/s" in second.causes[0].sentence
