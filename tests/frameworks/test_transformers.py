"""Hugging Face's Trainer: it requests the batches of one update together, and creates a loader for each evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset, SequentialSampler

from tests.frameworks.conftest import Ran
from tests.frameworks.pages import STEPS, run_page
from tests.frameworks.program import SAMPLES, SLOW, SLOW_S, Checks, Samples, Steps, Watch, main
from tests.frameworks.tracked import logged_by, require_figures

pytestmark = pytest.mark.long

EVALUATED = 3
UPDATES = 4
"""Of the endless stream."""

# The program


class Labelled(Dataset[dict[str, Tensor]]):
    """Inputs of the model: over ``Samples`` for training, over ``Checks`` for evaluation."""

    def __init__(self, samples: Samples) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"number": self.samples[index], "labels": torch.zeros(1)}


class LabelledChecks(Labelled):
    pass


class LabelledStream(IterableDataset[dict[str, Tensor]]):
    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        samples = Labelled(Samples(slow=2))
        return (samples[index] for index in range(SAMPLES))


class Model(torch.nn.Module):
    """Records which batches it gets, and when."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.batches: list[Any] = []
        self.steps = Steps()

    def forward(self, number: Tensor, labels: Tensor) -> dict[str, Tensor]:
        if self.training:
            self.steps.has_batch()
        self.batches.append([self.training, number.tolist()])
        logits = self.layer(number)
        return {"loss": ((logits - labels) ** 2).mean(), "logits": logits}


def train(watch: Watch, data: Any, **settings: Any) -> Any:
    from transformers import Trainer, TrainingArguments

    class Watched(Trainer):
        def get_train_dataloader(self) -> Any:
            return watch(super().get_train_dataloader(), "train")

        def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
            return watch(super().get_eval_dataloader(eval_dataset), "eval")

        def _get_train_sampler(self, *_: Any) -> Any:
            return SequentialSampler(self.train_dataset) if isinstance(self.train_dataset, Labelled) else None

        def training_step(self, *arguments: Any, **named: Any) -> Any:
            result = super().training_step(*arguments, **named)
            self.model.steps.is_done()
            return result

    model = Model()
    with TemporaryDirectory() as directory:
        arguments = TrainingArguments(
            output_dir=directory,
            per_device_train_batch_size=1,
            per_device_eval_batch_size=1,
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
            save_strategy="no",
            logging_strategy="no",
            dataloader_pin_memory=False,
            **settings,
        )
        Watched(model, arguments, train_dataset=data, eval_dataset=LabelledChecks(Checks())).train()
    return {"batches": model.batches, "waits_s": model.steps.waits_s}


def each_batch_an_update(watch: Watch) -> Any:
    return train(watch, Labelled(Samples()), num_train_epochs=2, eval_strategy="epoch")


def two_batches_an_update(watch: Watch) -> Any:
    settings = {
        "gradient_accumulation_steps": 2,
        "eval_strategy": "steps",
        "eval_steps": 2,
        "dataloader_num_workers": 1,
    }
    return train(watch, Labelled(Samples()), num_train_epochs=1, **settings)


def evaluated_first(watch: Watch) -> Any:
    return train(watch, Labelled(Samples()), num_train_epochs=1, eval_strategy="epoch", eval_on_start=True)


def stream(watch: Watch) -> Any:
    return train(watch, LabelledStream(), max_steps=UPDATES, eval_strategy="no")


TRAININGS = {
    training.__name__: training for training in (each_batch_an_update, two_batches_an_update, evaluated_first, stream)
}

if __name__ == "__main__":
    main(TRAININGS, lambda: run_page("transformers"), partial(logged_by, "transformers"))

# The tests


@pytest.mark.parametrize("training", TRAININGS)
def test_the_batches_are_those_without_the_agent(ran: Ran, training: str) -> None:
    assert ran.same(training)


def test_the_loop_waited_where_the_record_says(ran: Ran) -> None:
    for received, seen in zip(
        ran.both("each_batch_an_update", "train", "Labelled"), ran.recorded("each_batch_an_update"), strict=True
    ):
        assert received.places == [(epoch, batch) for epoch in range(2) for batch in range(SAMPLES)]
        assert set(received.batches) == set(received.places)
        assert min(received.wait_s(0, SLOW - 1), received.wait_s(1, SLOW - 1), seen["waits_s"][SLOW - 1]) >= SLOW_S


def test_all_batches_of_an_update_are_steps(ran: Ran) -> None:
    for received in ran.both("two_batches_an_update", "train", "Labelled"):
        assert received.places == [(0, batch) for batch in range(SAMPLES)]
        assert {batch["worker"] for batch in received.batches.values()} == {0}


def test_evaluations_are_one_loader_however_often_it_is_created(ran: Ran) -> None:
    for training, times in (("each_batch_an_update", 2), ("two_batches_an_update", 2)):
        for received in ran.both(training, "eval", "LabelledChecks"):
            assert received.places == [(epoch, batch) for epoch in range(times) for batch in range(EVALUATED)]
            assert received.wait_s(0, 0) >= SLOW_S  # of three the second is slow, and requested with the first


def test_evaluation_is_distinguished_from_training_also_where_it_comes_first(ran: Ran) -> None:
    """The Trainer disables gradients within its evaluation steps, not around them."""
    for received in ran.both("evaluated_first", "eval", "LabelledChecks"):
        assert [(epoch["grad_enabled"], epoch["graph_built"]) for epoch in received.epochs.values()] == [
            (True, False)
        ] * 2
    for training in ("evaluated_first", "two_batches_an_update"):
        for received in ran.both(training, "train", "Labelled"):
            assert [epoch["graph_built"] for epoch in received.epochs.values()] == [True]


def test_batches_of_a_stream_are_requested_ahead_too(ran: Ran) -> None:
    for received in ran.both("stream", "train", "LabelledStream"):
        assert received.places == [(0, batch) for batch in range(UPDATES)]
        assert received.wait_s(0, 1) >= SLOW_S


def test_the_program_of_its_page_is_recorded(ran: Ran) -> None:
    assert ran.steps_of_page() == STEPS["transformers"]


def test_figures_are_logged_beside_the_trainings_own(ran: Ran) -> None:
    require_figures(ran.logged())
