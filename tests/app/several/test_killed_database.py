"""A database server that is killed again and again under two services: what was acknowledged is there, once."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from urllib.parse import urlsplit

import pytest

from tests.app.made_windows import made_stream, posted
from tests.app.serving import Service, start_service
from tests.fakes.postgresql import Cluster
from underfed_server.store.store import Store

JSON = {"Content-Type": "application/json"}


class Agent(threading.Thread):
    """Posts a stream as docs/wire.md asks, to whichever service comes next; some answers get lost."""

    def __init__(self, services: list[Service], rank: int, windows: int) -> None:
        super().__init__()
        self.windows = [posted(window) for window in made_stream(windows, seed=rank, rank=rank)]
        self.acknowledged = 0
        self.refused = 0
        self._ports = [urlsplit(service.address).port or 0 for service in services]
        self._chance = random.Random(rank)

    def run(self) -> None:
        while self.acknowledged < len(self.windows):
            try:
                self._post()
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)

    def _post(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._chance.choice(self._ports), timeout=60)
        try:
            connection.request("POST", "/api/v1/ingest", self.windows[self.acknowledged], JSON)
            if self._chance.random() < 0.05:
                return  # the answer is lost
            answer = connection.getresponse()
            said = json.loads(answer.read())
        finally:
            connection.close()
        if answer.status == 503:
            assert answer.getheader("retry-after")
            self.refused += 1
            time.sleep(0.05)
            return
        # 409: a service that did not know it yet has the window from before.
        assert answer.status in {200, 409}, said
        self.acknowledged = said["error"]["next_window_index"] if answer.status == 409 else said["next_window_index"]


@pytest.mark.timeout(300)
def test_every_step_is_there_once_and_in_order_after_many_kills_of_the_database() -> None:
    ranks, windows, kills = 4, 150, 3
    # As a real one, with everything on disk before it is acknowledged.
    with Cluster() as cluster:
        url = cluster.url.render_as_string(hide_password=False)
        services = [start_service(url) for _ in range(2)]
        agents = [Agent(services, rank, windows) for rank in range(ranks)]
        for agent in agents:
            agent.start()
        for kill in range(1, kills + 1):
            while min(agent.acknowledged for agent in agents) < windows * kill // (kills + 1):
                time.sleep(0.005)
            cluster.kill()
            time.sleep(0.2)
            cluster.start()
        for agent in agents:
            agent.join()
        for service in services:
            service.kill()
        store = Store(url)
        try:
            for rank in range(ranks):
                sent = [window["steps"][0] for window in made_stream(windows, seed=rank, rank=rank)]
                steps = store.steps("run-1", rank, "train")
                assert steps.step_index.tolist() == list(range(windows * 20))
                assert steps.step_us.tolist() == [value for part in sent for value in part["step_us"]]
        finally:
            store.close()
        assert sum(agent.refused for agent in agents) > 0
