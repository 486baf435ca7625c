"""Hugging Face's Trainer: figures of data loading among its own logs, which reach every reporter.

    trainer = Trainer(callbacks=[UnderfedCallback()])

``underfed run`` needs not even that line.
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback
from transformers.trainer import DEFAULT_CALLBACKS

from underfed.integrations.scalars import is_recording, scalars, unharmed
from underfed.trainer import control


class Figures(TrainerCallback):  # type: ignore[misc]
    """Adds the figures to what is logged. It stands before reporters, which send what they find."""

    def __init__(self) -> None:
        super().__init__()
        control.log_by_callback()

    def on_log(self, _args: Any, state: Any, *_: Any, logs: dict[str, Any] | None = None, **__: Any) -> None:
        is_of_training = logs is not None and not any(name.startswith("eval_") for name in logs)
        if logs is not None and is_of_training and state.is_world_process_zero:
            unharmed(lambda: logs.update({f"underfed/{name}": value for name, value in scalars().items()}))


class UnderfedCallback(TrainerCallback):  # type: ignore[misc]
    """Has ``underfed/data_stall_fraction`` and its like reach the reporters of all trainers that are made after it.

    A trainer's own callbacks come after its reporters, too late to add what these should send. So what adds the
    figures stands among the callbacks that every trainer begins with.
    """

    def __init__(self) -> None:
        add_to_logs()


def add_to_logs() -> None:
    """Of every trainer that is made from now on, once."""
    if Figures not in DEFAULT_CALLBACKS:
        DEFAULT_CALLBACKS.append(Figures)


def add_where_recording() -> None:
    """What ``underfed run`` does once the Trainer's module is imported."""
    if is_recording():
        add_to_logs()
