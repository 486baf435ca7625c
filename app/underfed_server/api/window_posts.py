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
from underfed_server.api.traffic import CLIENT_LEFT, HEADER, Traffic, failure_of
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

    def begin(self, scope: Scope) -> UsualPost | None:
        # A copy: what a proxy says of the client is put into it, and ASGI's way looks at that by itself.
        scope = dict(scope)
        headers = dict(scope["headers"])
        try:
            permission = self._gate.known(scope, headers)
            if permission is None:
                return None
            head = head_of(permission, headers)
            self._gate.charge(scope, permission, headers)
        except RequestError:
            return None
        given = next((value for name, value in scope["headers"] if name == HEADER), None)
        return UsualPost(scope, head, request_id_of(given), time.perf_counter())

    def arrived(self, post: UsualPost, size: int) -> None:
        if post.refusal is None:
            try:
                self._budget.take(size)
            except RequestError as error:
                post.refusal = error
            else:
                post.held_bytes += size
        if post.refusal is not None:
            self._let_go(post)

    def drop(self, post: UsualPost) -> None:
        self._let_go(post)
        del post.answer
        self._note(post, CLIENT_LEFT)

    def take(self, post: UsualPost) -> None:
        body = self._let_go(post)
        if post.refusal is not None:
            self._fail_soon(post, post.refusal)
            return
        try:
            posted = self._ingest.submit(post.head, body)
        except Exception as error:
            self._fail_soon(post, error)
        else:
            self._answers.deliver(posted, partial(self._finish, post))

    def _fail_soon(self, post: UsualPost, error: Exception) -> None:
        """As late as any other answer: what has come behind the post is looked at before."""
        asyncio.get_running_loop().call_soon(self._fail, post, error)

    def _let_go(self, post: UsualPost) -> bytes:
        """The body, which the post does not keep: a connection has its last one until the next."""
        body = bytes(post.body)
        post.body = bytearray()
        self._budget.give_back(post.held_bytes)
        post.held_bytes = 0
        return body

    def _finish(self, post: UsualPost, posted: Future[Outcome]) -> None:
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
        answer = post.answer
        # It refers to the connection, which refers to the post: both would be freed much later.
        del post.answer
        is_sent = answer(status, body, (*headers, (HEADER.decode(), post.asked)))
        self._note(post, status if is_sent else CLIENT_LEFT)

    def _note(self, post: UsualPost, status: int) -> None:
        known = request_id.set(post.asked)
        self._traffic.note(post.scope, status, time.perf_counter() - post.begun)
        request_id.reset(known)
