"""Lightning's Trainer: figures of data loading in each of its loggers.

    trainer = Trainer(callbacks=[UnderfedCallback()])

Where Underfed is installed in the environment that trains, a process that is recorded needs not even that line: see
``factory``.
"""

from __future__ import annotations

import sys
from typing import Any

from underfed.integrations.scalars import scalars, unharmed
from underfed.trainer import control

if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
    from pytorch_lightning import Callback
else:
    from lightning.pytorch import Callback


class UnderfedCallback(Callback):
    """Logs ``underfed/data_stall_fraction`` and its like beside the trainer's own metrics, as often as these, and at
    the end the verdict and the page's address where the logger takes words."""

    def __init__(self) -> None:
        super().__init__()
        control.log_by_callback(logs_words=True)

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        if trainer._logger_connector.should_update_logs and self._is_first_of(trainer):
            unharmed(lambda: self._log(trainer))

    def on_fit_end(self, trainer: Any, *_: Any) -> None:
        if trainer.is_global_zero and self._is_first_of(trainer):
            unharmed(lambda: self._log_words(trainer))

    def _log(self, trainer: Any) -> None:
        if not trainer.loggers or not (known := scalars()):
            return
        step = trainer.fit_loop.epoch_loop._batches_that_stepped
        for logger in trainer.loggers:
            named = {f"underfed{logger.group_separator}{name}": value for name, value in known.items()}
            logger.log_metrics(named, step=step)

    def _log_words(self, trainer: Any) -> None:
        for name, word in control.last_words().items():
            for logger in trainer.loggers:
                log_word(logger, name, word)

    def _is_first_of(self, trainer: Any) -> bool:
        """Of those that the program and the entry point gave: each figure is logged once."""
        return next(each for each in trainer.callbacks if type(each).__name__ == type(self).__name__) is self


def log_word(logger: Any, name: str, word: str) -> None:
    """As W&B's summary, MLflow's tag or TensorBoard's text; other loggers take numbers only."""
    tracker = logger.experiment
    if hasattr(tracker, "summary"):
        tracker.summary[f"underfed/{name}"] = word
    elif hasattr(tracker, "set_tag"):
        tracker.set_tag(logger.run_id, f"underfed.{name}", word)
    elif hasattr(tracker, "add_text"):
        tracker.add_text(f"underfed/{name}", word)
