"""When a sampler is timed: always, but for short steps of which it takes next to nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from underfed.trainer.hooks.sampler_timing import FEWEST, SHORT_STEP_NS, TIMED, SamplerTiming


@dataclass
class Loop:
    """Steps of 40 µs, of which the sampler takes one."""

    timing: SamplerTiming = field(default_factory=SamplerTiming)
    steps: int = 0
    now_ns: int = 0

    def begin_pass(self) -> None:
        self.timing.begin_pass()
        assert (self.timing.is_on, self.timing.usual_ns) == (True, 0)
        self.run(1)

    def run(self, steps: int = FEWEST, *, sampler_ns: int = 1_000, step_ns: int = 40_000) -> bool:
        """Returns whether the steps after these are timed."""
        if self.timing.is_on:
            self.timing.total_ns += steps * sampler_ns
        self.steps += steps
        self.now_ns += steps * step_ns
        self.timing.look(self.steps, self.now_ns)
        return self.timing.is_on


def begun() -> Loop:
    loop = Loop()
    loop.begin_pass()
    return loop


def test_a_quick_sampler_is_timed_in_a_part_of_short_steps_and_taken_for_the_same_in_the_others() -> None:
    loop = begun()
    timed = [loop.run() for _ in range(3 * TIMED)]
    assert timed == [*[False] * (TIMED - 1), True] * 3
    assert loop.timing.usual_ns == 0
    loop.run(sampler_ns=1_500)
    assert (loop.timing.is_on, loop.timing.usual_ns) == (False, 1_500)


def test_few_steps_are_not_judged() -> None:
    loop = begun()
    assert all(loop.run(FEWEST // 3) for _ in range(2))
    assert not loop.run()


def test_a_sampler_that_takes_its_share_is_timed_in_each_step() -> None:
    loop = begun()
    assert all(loop.run(sampler_ns=4_000) for _ in range(10))


def test_a_sampler_that_is_at_work_now_and_then_is_timed_once_that_was_seen() -> None:
    loop = begun()
    while not loop.run():
        pass
    assert loop.run(sampler_ns=30_000, step_ns=70_000)
    assert not loop.run()


def test_in_long_steps_it_is_always_timed() -> None:
    loop = begun()
    assert all(loop.run(step_ns=SHORT_STEP_NS) for _ in range(10))


def test_the_first_call_of_each_pass_is_timed() -> None:
    loop = begun()
    loop.run()
    loop.begin_pass()
    assert (loop.timing.is_on, loop.timing.usual_ns) == (False, 1_000)
    assert [loop.run() for _ in range(TIMED - 1)] == [*[False] * (TIMED - 2), True]
