"""How often the processes of a service look for cyclic garbage."""

from __future__ import annotations

import gc
import socket

from underfed_server.forked.forks import Forks
from underfed_server.garbage import SELDOM


def send_settings(other_end: socket.socket) -> None:
    other_end.sendall(repr((gc.get_threshold(), gc.get_freeze_count() > 0)).encode())


def test_a_forked_process_looks_as_seldom_as_the_service() -> None:
    before = gc.get_threshold()
    with Forks(send_settings) as forks, forks.new(send_settings) as asked:
        assert asked.recv(100) == repr((SELDOM, True)).encode()
    assert gc.get_threshold() == before
