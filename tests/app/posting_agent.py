"""An agent that posts through kills and lost answers, and what must be recorded of it in the end."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any

from tests.app.made_windows import made_stream, posted
from underfed_server.store.store import Store

JSON = {"Content-Type": "application/json"}
LOST_ANSWERS = 0.05


class PostingAgent(threading.Thread):
    """Posts a stream as docs/wire.md asks, through whichever service it comes upon; some answers get lost."""

    def __init__(self, ports: Sequence[int], rank: int, windows: int) -> None:
        super().__init__()
        self.windows = [posted(window) for window in made_stream(windows, seed=rank, rank=rank)]
        self.acknowledged = 0
        self.refused = 0
        """Posts that were to be sent again later."""
        self.corrected = 0
        """Posts to a service that wanted others first."""
        self._ports = ports
        self._chance = random.Random(rank)

    def run(self) -> None:
        while self.acknowledged < len(self.windows):
            try:
                self._post_on()
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)

    def _post_on(self) -> None:
        """From what is known to be acknowledged on, until an answer is lost or a service refuses."""
        connection = http.client.HTTPConnection("127.0.0.1", self._chance.choice(self._ports), timeout=60)
        try:
            while self.acknowledged < len(self.windows):
                connection.request("POST", "/api/v1/ingest", self.windows[self.acknowledged], JSON)
                if self._chance.random() < LOST_ANSWERS:
                    return
                answer = connection.getresponse()
                if not self._is_taken(answer, json.loads(answer.read())):
                    return
        finally:
            connection.close()

    def _is_taken(self, answer: http.client.HTTPResponse, said: Any) -> bool:
        if answer.status == 503:
            assert answer.getheader("retry-after")
            self.refused += 1
            time.sleep(0.05)
            return False
        # 409: a service that did not know it yet has the window from before.
        assert answer.status in {200, 409}, said
        self.corrected += answer.status == 409
        self.acknowledged = said["error"]["next_window_index"] if answer.status == 409 else said["next_window_index"]
        return True


def require_every_step(store: Store, ranks: Iterable[int], windows: int) -> None:
    """All that agents of these ranks sent is there, once and in order."""
    for rank in ranks:
        sent = [window["steps"][0] for window in made_stream(windows, seed=rank, rank=rank)]
        steps = store.steps("run-1", rank, "train")
        assert steps.step_index.tolist() == list(range(windows * 20))
        assert steps.step_us.tolist() == [value for part in sent for value in part["step_us"]]
