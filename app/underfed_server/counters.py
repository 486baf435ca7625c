"""What one service process counts of its own work, as ``/metrics`` shows it. Any thread may count."""

from __future__ import annotations

from typing import Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

from underfed_server.model import ChannelKind

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SIZES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)


EndReason = Literal[
    "full", "one_address", "headers", "headers_size", "body", "body_size", "malformed", "pipelined", "stalled", "unread"
]
"""Of what a connection, or all together, had too much."""


class Counters:
    def __init__(self) -> None:
        # When each series began would be a series more for each of them.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry(auto_describe=False)
        self.windows = self._counter("ingest_windows", "Windows stored")
        self.steps = self._counter("ingest_steps", "Steps in them")
        self.bytes = self._counter("ingest_bytes", "Bytes of them, as posted")
        self.repeats = self._counter("ingest_repeats", "Windows that had been stored before")
        self.out_of_order = self._counter("ingest_out_of_order", "Windows refused because an earlier one is missing")
        self.refusals = self._counter(
            "refusals", "Requests refused or failed, by the code they were answered with", "code"
        )
        self.connections = Gauge("underfed_connections", "Open connections", registry=self.registry)
        self.connections_ended = self._counter(
            "connections_ended", "Connections refused or ended by the service, by what there was too much of", "reason"
        )
        for reason in get_args(EndReason):
            self.connections_ended.labels(reason)
        self.writer_failures = self._counter("writer_failures", "Transactions that were rolled back")
        self.compaction_failures = self._counter(
            "compaction_failures", "Streams that could not be compacted and were set aside for a while"
        )
        self.backup_failures = self._counter("backup_failures", "Scheduled back-ups that could not be made")
        self.backup_at = Gauge(
            "underfed_backup_timestamp_seconds",
            "When the newest scheduled back-up was made; 0: none",
            registry=self.registry,
        )
        self.alerts = self._counter(
            "alert_attempts", "Attempts to send an alert, by the kind of channel and how they ended", "kind", "result"
        )
        for kind in get_args(ChannelKind):
            for result in ("sent", "failed"):
                self.alerts.labels(kind, result)
        self.group_size = self._histogram("writer_group_size", "Writes committed together", buckets=SIZES)
        self.commit_seconds = self._histogram(
            "writer_commit_seconds", "From the begin of a transaction until it is on disk"
        )
        self.request_seconds = self._histogram(
            "request_seconds", "Until the last byte of an answer", "method", "route", "status"
        )
        self.judgement_seconds = self._histogram("judgement_seconds", "Judging a run")

    def _counter(self, name: str, documentation: str, *labels: str) -> Counter:
        return Counter(f"underfed_{name}", documentation, labels, registry=self.registry)

    def _histogram(
        self, name: str, documentation: str, *labels: str, buckets: tuple[float, ...] = SECONDS
    ) -> Histogram:
        return Histogram(f"underfed_{name}", documentation, labels, buckets=buckets, registry=self.registry)
