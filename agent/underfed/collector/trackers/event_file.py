"""Writes figures as TensorBoard events, into a directory of their own beside the program's: there it shows as a run."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData
from tensorboard.summary.writer.record_writer import RecordWriter

from underfed.exchange.trackers import Target
from underfed.host.clock import wall_clock_ms

DIRECTORY = "underfed"
VERSION = "brain.Event:2"
"""Of the format: each file begins with it."""


def open_events(target: Target) -> Callable[[int, int, Mapping[str, float], Mapping[str, str]], None]:
    directory = Path(target.directory or target.run, DIRECTORY)
    directory.mkdir(parents=True, exist_ok=True)
    now = wall_clock_ms()
    name = f"events.out.tfevents.{now // 1000:010}.{platform.node()}.{os.getpid()}.underfed"
    file = (directory / name).open("ab")
    # Ours, not ``EventFileWriter``: that one would import TensorFlow where it is installed.
    records = RecordWriter(file)
    records.write(Event(wall_time=now / 1000, file_version=VERSION).SerializeToString())

    def log(at_ms: int, steps: int, scalars: Mapping[str, float], words: Mapping[str, str]) -> None:
        values = [Summary.Value(tag=f"underfed/{name}", simple_value=value) for name, value in scalars.items()]
        values += [text(f"underfed/{name}", word) for name, word in words.items()]
        event = Event(wall_time=at_ms / 1e3, step=steps, summary=Summary(value=values))
        records.write(event.SerializeToString())
        file.flush()

    return log


def text(tag: str, word: str) -> Summary.Value:
    plugin = SummaryMetadata.PluginData(plugin_name="text", content=TextPluginData(version=0).SerializeToString())
    tensor = TensorProto(
        dtype=DT_STRING,
        string_val=[word.encode()],
        tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]),
    )
    return Summary.Value(tag=tag, metadata=SummaryMetadata(plugin_data=plugin), tensor=tensor)
