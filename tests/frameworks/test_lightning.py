"""Lightning recreates loaders, iterates validation itself, and requests batches ahead where it knows no length."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from tests.fakes.received import Place
from tests.frameworks.conftest import Ran
from tests.frameworks.pages import STEPS, run_page
from tests.frameworks.program import SAMPLES, SLOW, SLOW_S, WATCHED, Checks, Samples, Steps, Stream, Watch, main
from tests.frameworks.tracked import logged_by, require_figures

pytestmark = pytest.mark.long

VALIDATED = 3
SANITY_CHECKED = 2

# The program


def fit(train: Any, val: Any = None, fits: int = 1, **settings: Any) -> dict[str, Any]:
    """Train two epochs. Returns what the training saw."""
    import lightning

    module = make_module()
    for _ in range(fits):
        trainer = lightning.Trainer(
            **{
                "accelerator": "cpu",
                "max_epochs": 2,
                "logger": False,
                "enable_checkpointing": False,
                "enable_progress_bar": False,
                "enable_model_summary": False,
                **settings,
            }
        )
        loaders = {name: loader for name, loader in (("train", train), ("val", val)) if not callable(loader)}
        hooks = {f"{name}_dataloader": loader for name, loader in (("train", train), ("val", val)) if callable(loader)}
        vars(module).update(hooks)
        trainer.fit(module, *loaders.values())
    seen: dict[str, Any] = {"batches": module.batches, "waits_s": module.steps.waits_s}
    return seen


def make_module() -> Any:
    from lightning import LightningModule

    class Module(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)
            self.batches: list[Any] = []
            self.steps = Steps()

        def training_step(self, batch: Any, index: int) -> Any:
            self.steps.has_batch()
            self.batches.append(["train", batch.tolist()])
            return self.layer(batch).sum()

        def on_train_batch_end(self, *_: Any) -> None:
            self.steps.is_done()

        def validation_step(self, batch: Any, index: int) -> None:
            self.batches.append(["val", batch.tolist()])

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.01)

    return Module()


def with_validation(watch: Watch) -> Any:
    return fit(watch(DataLoader(Samples()), "train"), watch(DataLoader(Checks()), "val"))


def with_workers(watch: Watch) -> Any:
    return fit(watch(DataLoader(Samples(), num_workers=2), "train"), limit_val_batches=0)


def from_hooks(watch: Watch) -> Any:
    samples, checks = Samples(), Checks()

    def val() -> Any:
        return watch(DataLoader(checks), "val")

    return fit(lambda: watch(DataLoader(samples), "train"), val, reload_dataloaders_every_n_epochs=1)


def overfit(watch: Watch) -> Any:
    return fit(watch(DataLoader(Samples(), shuffle=True), "train"), limit_val_batches=0, overfit_batches=3)


def stream(watch: Watch) -> Any:
    return fit(watch(DataLoader(Stream()), "train"), limit_val_batches=0)


def limited_stream(watch: Watch) -> Any:
    return fit(watch(DataLoader(Stream()), "train"), limit_val_batches=0, limit_train_batches=SAMPLES - 1)


def fitted_twice(watch: Watch) -> Any:
    """A loader whose sampler Lightning replaces, as for every distributed strategy."""
    loader = watch(DataLoader(Samples()), "train")
    return fit(loader, fits=2, limit_val_batches=0, max_epochs=1, strategy="ddp", devices=1)


TRAININGS: dict[str, Callable[[Watch], Any]] = {
    training.__name__: training
    for training in (with_validation, with_workers, from_hooks, overfit, stream, limited_stream, fitted_twice)
}

if __name__ == "__main__":
    main(TRAININGS, lambda: run_page("lightning"), partial(logged_by, "lightning"))

# The tests


def epochs(*lengths: int) -> list[Place]:
    return [(epoch, batch) for epoch, length in enumerate(lengths) for batch in range(length)]


@pytest.mark.parametrize("training", [name for name in TRAININGS if name != "overfit"])
def test_the_batches_are_those_without_the_agent(ran: Ran, training: str) -> None:
    assert ran.same(training)


def test_training_and_validation_are_distinguished(ran: Ran) -> None:
    for train in ran.both("with_validation", "train", "Samples"):
        assert train.places == epochs(SAMPLES, SAMPLES)
        assert set(train.batches) == set(train.places)
        assert train.wait_s(1, SLOW) >= SLOW_S
    for val in ran.both("with_validation", "val", "Checks"):
        assert val.places == epochs(SANITY_CHECKED, VALIDATED, VALIDATED)
        assert val.wait_s(1, 1) >= SLOW_S


def test_workers_are_seen(ran: Ran) -> None:
    for received in ran.both("with_workers", "train", "Samples"):
        assert received.places == epochs(SAMPLES, SAMPLES)
        assert set(received.batches) == set(received.places)
        assert {batch["worker"] for batch in received.batches.values()} == {0, 1}


def test_a_loader_that_is_recreated_for_each_epoch_stays_one(ran: Ran) -> None:
    for train in ran.both("from_hooks", "train", "Samples"):
        assert [place[1] for place in train.places] == [*range(SAMPLES)] * 2
    for val in ran.both("from_hooks", "val", "Checks"):
        assert [place[1] for place in val.places] == [*range(SANITY_CHECKED), *range(VALIDATED), *range(VALIDATED)]


def test_a_loader_that_lightning_creates_from_a_watched_one_is_watched(ran: Ran) -> None:
    for received in ran.both("overfit", "train", "Samples"):
        assert received.places == epochs(3, 3)
        assert received.facts["sampler_type"] is not None
    for received in ran.both("fitted_twice", "train", "Samples"):
        assert received.places == epochs(SAMPLES, SAMPLES)


def test_without_a_length_each_batch_is_requested_ahead(ran: Ran) -> None:
    assert ran.seen["stream"][WATCHED]["waits_s"][SLOW - 1] >= SLOW_S
    for received in ran.both("stream", "train", "Stream"):
        assert received.places == epochs(SAMPLES, SAMPLES)
        assert min(received.wait_s(epoch, SLOW - 1) for epoch in range(2)) >= SLOW_S


def test_with_a_limit_none_is_requested_ahead(ran: Ran) -> None:
    assert ran.seen["limited_stream"][WATCHED]["waits_s"][SLOW] >= SLOW_S
    for received in ran.both("limited_stream", "train", "Stream"):
        assert received.places == epochs(SAMPLES - 1, SAMPLES - 1)
        assert min(received.wait_s(epoch, SLOW) for epoch in range(2)) >= SLOW_S


def test_the_program_of_its_page_is_recorded(ran: Ran) -> None:
    assert ran.steps_of_page() == STEPS["lightning"]


def test_figures_are_logged_beside_the_trainings_own(ran: Ran) -> None:
    require_figures(ran.logged())
