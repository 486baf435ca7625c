"""Answers usual posts of windows, with what is done with any other request by :class:`Traffic`, :class:`Gate` and
:class:`Ingest`.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from functools import partial

from underfed_server.api.admission.gate import Gate
from underfed_server.api.admission.usual_post import UsualPost
from underfed_server.api.traffic import HEADER, Traffic, failure_of
from underfed_server.budget import Budget
from underfed_server.errors import RequestError
from underfed_server.ingest.answers import Answers
from underfed_server.ingest.asgi import Scope
from underfed_server.ingest.endpoint import Ingest, head_of, written_outcome
from underfed_server.ingest.posted import Outcome
from underfed_server.logs import request_id, request_id_of


class WindowPosts:
    def __init__(self, gate: Gate, ingest: Ingest, answers: Answers, traffic: Traffic, budget: Budget) -> None:
        """``budget``: for the bytes of all bodies that are being received."""
        self._gate = gate
        self._ingest = ingest
        self._answers = answers
        self._traffic = traffic
        self._budget = budget

    def begin(self, scope: Scope, length: int) -> UsualPost | None:
        headers = dict(scope["headers"])
        try:
            permission = self._gate.known(scope, headers)
            if permission is None:
                return None
            head = head_of(permission, headers)
            self._budget.take(length)
            try:
                self._gate.charge(scope, permission, headers)
            except RequestError:
                self._budget.give_back(length)
                return None
        except RequestError:
            return None
        return UsualPost(scope, head, length, request_id_of(headers.get(HEADER)), time.perf_counter())

    def drop(self, post: UsualPost) -> None:
        self._budget.give_back(post.length)

    def take(self, post: UsualPost) -> None:
        self._budget.give_back(post.length)
        try:
            posted = self._ingest.submit(post.head, bytes(post.body))
        except Exception as error:
            # Later, as any other answer: what has come behind the post is looked at before.
            asyncio.get_running_loop().call_soon(self._fail, post, error)
        else:
            self._answers.tell(posted, partial(self._heard, post))

    def _heard(self, post: UsualPost, posted: Future[Outcome]) -> None:
        try:
            body = written_outcome(posted.result())
        except Exception as error:
            self._fail(post, error)
        else:
            self._answer(post, 200, body)

    def _fail(self, post: UsualPost, error: Exception) -> None:
        known = request_id.set(post.asked)
        status, body, headers = failure_of(error, post.scope, post.asked)
        request_id.reset(known)
        self._traffic.count_refusal(body)
        self._answer(post, status, body, *headers)

    def _answer(self, post: UsualPost, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        post.answer(status, body, (*headers, (HEADER.decode(), post.asked)))
        self._traffic.note(post.scope, status, time.perf_counter() - post.begun)
