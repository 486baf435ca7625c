"""Where loading spends its time: shares that are known by construction, and lines of real pipelines.

Recorded trainings (``tests/scenarios/record.py``); ``make soak`` trains those whose packages are installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.app.diagnosis.invariants import contradictions
from tests.app.judged_runs import JudgedRuns, judge
from tests.scenarios.conftest import RunPipeline
from tests.scenarios.pipelines.pipeline import HOT, names, pipeline
from tests.scenarios.pipelines.synthetic_windows import SyntheticRun, synthetic_windows
from tests.scenarios.record import is_right, read, recording
from tests.scenarios.record import recorded as recordings
from underfed.exchange.picture_sizes import MOST_SIZES
from underfed_server.api.served_hotspots import ServedHotspots
from underfed_server.diagnosis.costly_evidence import LOOKS, SAMPLER_NOT_SEEN
from underfed_server.facts.loading import LEAST_SAMPLES, looks_in
from underfed_server.model import Diagnosis
from underfed_server.store.reading.stacks import read_stacks
from underfed_server.store.store import Store

POINTS = 0.05
"""By which a share may be off."""

LINES = {
    "hot.demo": ("Image.convert", "demo/train.py", "Photographs.__getitem__"),
    "hot.photographs_albumentations": ("imread", "hot/photographs_albumentations.py", "Augmented.__getitem__"),
    "hot.photographs_hugging_face": ("Image.resize", "hot/photographs_hugging_face.py", "prepared"),
    "hot.joining": ("time.thread_time", "pipelines/effort.py", "compute"),
    "hot.photographs_webdataset": ("Image.resize", "hot/photographs_webdataset.py", "prepared"),
    "hot.reading": ("os.pread", "hot/reading.py", "Volumes.read"),
    "hot.weighted_sampler": ("torch.multinomial", "hot/weighted_sampler.py", "Weighted.__iter__"),
}
"""What the costliest line calls, its file and its function."""

KNOWN = ("hot.lines", "hot.joining", "hot.one_worker", "hot.reading")
"""Those whose shares are known by construction."""

BLAMED = {
    "hot.joining": "time.thread_time at tests/scenarios/pipelines/effort.py",
    "hot.lines": "effort.py",
    "hot.many_threads": "thread_oversubscription.py",
    "hot.one_worker": "effort.py",
    "hot.reading": "hot/reading.py",
    "hot.weighted_sampler": "torch.multinomial at tests/scenarios/pipelines/hot/weighted_sampler.py",
}
"""What the line of the cause that the training has contains."""

PICTURES = [f"hot.photographs_{library}" for library in ("albumentations", "torchvision", "webdataset")]

ADVISED = {
    "hot.demo": "reduced decoding",
    "hot.photographs_albumentations": "precomputing",
    "hot.photographs_hugging_face": "reduced decoding",
    "hot.photographs_torchvision": "another decoder",
    "hot.photographs_webdataset": "reduced decoding",
    "hot.slow_files": "slow samples prepared",
}
"""The first cheaper way, of those whose sizes were seen as :data:`REDUCIBLE` has it."""

REDUCIBLE = {
    "hot.demo": (4, 2, 1.0),
    "hot.photographs_hugging_face": (2, 2, 1.0),
    "hot.photographs_webdataset": (2, 2, 1.0),
    "hot.photographs_torchvision": (2, None, 0.84),
    "hot.photographs_albumentations": (2, None, 0.44),
}
"""Of the photographs, 800 to 1,120 pixels wide: the largest reduction of any that was seen, the one that nine of ten
bear, if one is, and the share of the looks at pictures that bear 1/2. Whole ones, of WebDataset and Hugging Face, are
2.7 to 3.7 times as large as the 224 pixels that are used, and the demo's crops 3.4 to 6.3 times as large as its 128. Of
the random crops of torchvision and Albumentations, which may be a twelfth of the picture, one in six and more than
every second are less than twice as large: too small for half of it."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(f"sqlite:///{tmp_path}/underfed.db")
    yield store
    store.close()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgedRuns]:
    made = JudgedRuns(tmp_path_factory.mktemp("judged"), lambda name: read(recording(name, "clear")))
    yield made
    made.close()


def recorded(runs: JudgedRuns, name: str) -> Diagnosis:
    return ServedHotspots().added_to(runs.store(name), runs.diagnosis(name))


def assert_known_shares(seen: Diagnosis, name: str) -> None:
    for known in pipeline(name).shares:
        shares = [
            each.total_fraction
            for each in seen.hotspots
            if each.function == known.function and each.stage == known.stage
        ]
        assert sum(shares) == pytest.approx(known.fraction, abs=POINTS), known


@pytest.mark.parametrize("name", [name for name, _ in recordings() if name.startswith(HOT)])
def test_the_cause_is_named_first(name: str, runs: JudgedRuns) -> None:
    """As it is of the other recordings, in test_recordings.py."""
    seen = runs.diagnosis(name)
    assert is_right(seen, name, "clear"), (seen.sentence, seen.causes)
    assert contradictions(seen) == []


@pytest.mark.parametrize("name", KNOWN)
def test_shares_are_those_that_the_lines_were_given(name: str, runs: JudgedRuns) -> None:
    assert pipeline(name).shares
    assert_known_shares(recorded(runs, name), name)


@pytest.mark.parametrize("name", BLAMED)
def test_a_cause_names_its_line_with_share_margin_and_looks(name: str, runs: JudgedRuns) -> None:
    """Each cause that ends at a line, of a training that has it."""
    found = {each.cause: each for each in recorded(runs, name).causes}[pipeline(name).cause or "cpu_limited"]
    line = next(each for each in found.evidence if each.what.startswith("Of loading, in "))
    assert BLAMED[name] in line.what
    assert line.value is not None and line.margin_fraction is not None
    assert float(line.value) > line.margin_fraction
    looks = next(each.value for each in found.evidence if each.what == LOOKS)
    assert isinstance(looks, (int, float)) and looks >= LEAST_SAMPLES


def test_of_a_slow_sampler_it_is_said_what_shows_its_line(runs: JudgedRuns) -> None:
    (first, *_) = recorded(runs, "sick.slow_sampler").causes
    said = [each.what for each in first.evidence if each.what.startswith("Of loading, in ")]
    assert said == [f"Of loading, in its costliest call: not measured, {SAMPLER_NOT_SEEN}"]


def test_a_helper_that_takes_all_the_time_is_broken_up_by_its_callers(runs: JudgedRuns) -> None:
    line = recorded(runs, "hot.lines").hot_lines[0]
    assert line.function == "compute"
    assert line.fraction == pytest.approx(1, abs=POINTS)
    known = {share.function: share.fraction for share in pipeline("hot.lines").shares}
    assert {one.function: one.fraction for one in line.callers} == pytest.approx(known, abs=POINTS)


@pytest.mark.parametrize("name", LINES)
def test_the_line_of_a_real_pipeline_is_named(name: str, runs: JudgedRuns) -> None:
    called, file, function = LINES[name]
    causes = {each.cause: each for each in recorded(runs, name).causes}
    said = [each.what for each in causes[pipeline(name).cause or "cpu_limited"].evidence]
    (line,) = [what for what in said if what.startswith("Of loading, in ")]
    assert line.startswith(f"Of loading, in {called} at ")
    assert f"{file}:" in line
    assert line.partition(", joining samples")[0].endswith(f", in {function}")


def test_of_a_pipeline_of_library_code_alone_its_function_is_named(runs: JudgedRuns) -> None:
    said = [each.what for each in recorded(runs, "hot.photographs_torchvision").causes[0].evidence]
    (line,) = [what for what in said if what.startswith("Of loading, in ")]
    assert line.startswith("Of loading, in ImageFile.load at PIL/ImageFile.py:")
    assert line.endswith("below DatasetFolder.__getitem__")


@pytest.mark.parametrize("name", ADVISED)
def test_the_usual_cheaper_way_is_advised_with_what_it_could_save(name: str, runs: JudgedRuns) -> None:
    seen = recorded(runs, name)
    cheaper = [one for one in seen.advice if one.change == "cheaper_transform"]
    assert cheaper[0].to == ADVISED[name]
    assert all(one.predicted_speedup is None and one.ceiling and one.ceiling > 1.05 for one in cheaper)


@pytest.mark.parametrize("name", PICTURES)
def test_from_which_size_to_which_pictures_are_resized_is_measured(name: str, runs: JudgedRuns) -> None:
    """The demo's photographs are 400 to 1,200 pixels wide; those that are cropped first, less."""
    run_id = recorded(runs, name).run_id
    with runs.store(name).reading() as reader:
        seen = read_stacks(reader.connection, run_id, "train")
    assert 0 < len(seen.picture_sizes) <= MOST_SIZES
    assert {(each.used_width, each.used_height) for each in seen.picture_sizes} == {(224, 224)}
    assert all(150 <= each.decoded_width <= 1_200 for each in seen.picture_sizes)
    looks = sum(each.count for each in seen.picture_sizes)
    assert 0.01 < looks / looks_in(seen.loading) < 0.6


@pytest.mark.parametrize("name", REDUCIBLE)
def test_reduced_decoding_is_advised_where_the_sizes_let_nearly_all_pictures_be_reduced(
    name: str, runs: JudgedRuns
) -> None:
    largest, borne, by_two = REDUCIBLE[name]
    seen = recorded(runs, name)
    with runs.store(name).reading() as reader:
        sizes = read_stacks(reader.connection, seen.run_id, "train").picture_sizes
    looks = sum(each.count for each in sizes)

    def share(by: int) -> float:
        ratios = [min(one.decoded_width / one.used_width, one.decoded_height / one.used_height) for one in sizes]
        return sum(one.count for one, ratio in zip(sizes, ratios, strict=True) if ratio >= by) / looks

    assert share(2) == pytest.approx(by_two, abs=0.005)
    assert share(largest) > 0 == share(2 * largest)
    assert max((by for by in (2, 4, 8) if share(by) >= 0.9), default=None) == borne
    advised = {one.to for one in seen.advice if one.change == "cheaper_transform"}
    assert ("reduced decoding" in advised) == (borne is not None)


def test_pictures_that_are_far_larger_than_used_are_advised_about_with_their_sizes(runs: JudgedRuns) -> None:
    cheaper = next(one for one in recorded(runs, "hot.photographs_webdataset").advice if one.to == "reduced decoding")
    assert "Decoded at 1,032 × 774, used at 224 × 224: 1/2 as wide and high as decoded now (516 × 387)" in cheaper.why
    assert "(224, 224)" in cheaper.diff


def test_the_slowest_files_are_named(runs: JudgedRuns) -> None:
    seen = recorded(runs, "hot.slow_files")
    assert seen.causes[0].cause == "slow_samples"
    large = [each for each in seen.slow_samples if each.file_bytes == 6_000_000]
    assert len({each.index for each in large}) >= 3
    assert all(each.file and each.file.endswith(f"{each.index:04}.dcm") for each in large)
    assert seen.slow_samples[0] in large


def test_a_run_that_does_not_wait_gets_no_advice_whatever_its_loading_is(store: Store) -> None:
    stacks = [each for window in read(recording("hot.lines", "clear")) for each in window.get("stacks", [])]
    windows = list(
        synthetic_windows(SyntheticRun(steps=100, step_us=50_000, data_wait_us=400, load_us=30_000), "sound")
    )
    windows[-1] = windows[-1] | {"stacks": [stacks[-1]]}
    seen = ServedHotspots().added_to(store, judge(store, windows))
    assert seen.hotspots != []
    assert (seen.causes, seen.advice, seen.refusals) == ([], [], [])


@pytest.mark.soak(passes=2, of=3)
@pytest.mark.parametrize("name", names(HOT))
def test_a_training_shows_its_costly_lines(name: str, run_pipeline: RunPipeline) -> None:
    if missing := [package for package in pipeline(name).needs if find_spec(package) is None]:
        pytest.skip(f"{', '.join(missing)} not installed")
    seen = run_pipeline(name, "clear")
    assert seen.bound == "data"
    assert_known_shares(seen, name)
    if name in ADVISED:
        assert ADVISED[name] in {one.to for one in seen.advice}
