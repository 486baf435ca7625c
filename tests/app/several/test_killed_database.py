"""A database server that is killed again and again under two services: what was acknowledged is there, once."""

from __future__ import annotations

import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.app.posting_agent import PostingAgent, require_every_step
from tests.app.serving import start_service
from tests.fakes.postgresql import Cluster
from underfed_server.store.store import Store


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_every_step_is_there_once_and_in_order_after_many_kills_of_the_database(tmp_path: Path) -> None:
    ranks, windows, kills = 4, 150, 3
    # As a real one, with everything on disk before it is acknowledged.
    with Cluster() as cluster:
        url = cluster.url.render_as_string(hide_password=False)
        services = [start_service(url, UNDERFED_DIR=str(tmp_path)) for _ in range(2)]
        ports = [urlsplit(service.address).port or 0 for service in services]
        agents = [PostingAgent(ports, rank, windows) for rank in range(ranks)]
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
            require_every_step(store, range(ranks), windows)
        finally:
            store.close()
        assert sum(agent.refused for agent in agents) > 0
