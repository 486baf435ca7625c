"""Known ways to make loading cheaper are advised for what was seen, at the line that it was seen at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.app.advice.made_case import altered, made_case, made_verdict, recommended
from tests.app.made_facts import made_run
from tests.app.made_loading import made_loading, resized, slow_sample
from underfed_server.advice.advise import recommend
from underfed_server.advice.known_costs import KNOWN_COSTS
from underfed_server.advice.order import in_order
from underfed_server.facts.record import RunFacts
from underfed_server.model import Advice, Bound, PictureSize, Setting, SlowSample

DECODE = "Photos.__getitem__ data.py:40 > Image.convert PIL/Image.py:1067 > ImageFile.load PIL/ImageFile.py:425"
RESIZE = "Photos.__getitem__ data.py:41 > Image.resize PIL/Image.py:2440 > resize PIL/Image.py:2440"
OWN = "Photos.__getitem__ data.py:50"

SEEN: list[tuple[str, Mapping[str, int]]] = [
    ("reduced decoding", {DECODE: 60, RESIZE: 9}),
    ("reduced decoding", {f"{OWN} > cv2.imread data.py:50": 60, f"{OWN} > cv2.resize data.py:50": 9}),
    ("another decoder", {DECODE: 60}),
    ("resized copies", {RESIZE: 60}),
    ("augmenting batches", {f"{OWN} > Image.rotate PIL/Image.py:2500 > self.transform PIL/Image.py:2560": 60}),
    ("augmenting batches", {f"{OWN} > _Enhance.enhance PIL/ImageEnhance.py:33": 60}),
    ("resized copies", {f"{OWN} > resize torchvision/transforms/v2/functional/_geometry.py:188": 60}),
    ("augmenting batches", {f"{OWN} > adjust_hue torchvision/transforms/_functional_pil.py:110": 60}),
    (
        "bytes to the device",
        {f"{OWN} > to_tensor torchvision/transforms/functional.py:174 > div torchvision/f.py:1": 60},
    ),
    ("bytes to the device", {f"{OWN} > float data.py:50": 60}),
    ("arrays in float32", {f"{OWN} > operator / data.py:50": 40, f"{OWN} > np.asarray data.py:50": 20}),
    ("arrays in float32", {f"{OWN} > astype data.py:50": 60}),
    (
        "tokens prepared",
        {f"{OWN} > PreTrainedTokenizerFast._encode_plus transformers/tokenization_utils_fast.py:9": 60},
    ),
    ("tokens prepared", {f"{OWN} > self.tokenizer.encode data.py:50": 60}),
    ("one array to one tensor", {f"{OWN} > torch.tensor data.py:50": 60}),
    ("regular expressions", {f"{OWN} > sub re/__init__.py:185 > sub re/__init__.py:185": 60}),
    ("regular expressions", {f"{OWN} > WORDS.findall data.py:50": 60}),
    (
        "archive opened once",
        {f"{OWN} > ZipFile.__init__ zipfile.py:1300 > ZipFile._RealGetContents zipfile.py:1400": 60},
    ),
    ("archive opened once", {f"{OWN} > File.__init__ h5py/_hl/files.py:561 > make_fid h5py/_hl/files.py:235": 60}),
    ("no deep copies", {f"{OWN} > deepcopy copy.py:146 > _deepcopy_dict copy.py:231": 60}),
    ("parsed once", {f"{OWN} > loads json/__init__.py:346 > JSONDecoder.decode json/decoder.py:337": 60}),
    ("columns as arrays", {f"{OWN} > _LocIndexer.__getitem__ pandas/core/indexing.py:1191": 60}),
    ("collating with one call", {"collate: pad train.py:9": 60}),
    ("fewer tensor operations", {f"{OWN} > torch.fft.rfft data.py:50": 40, f"{OWN} > torch.roll data.py:50": 20}),
    ("a generator of random numbers", {f"{OWN} > np.random.randn data.py:50": 60}),
]


def waiting(samples: Mapping[str, int], slow: list[SlowSample] | None = None, **known: Any) -> RunFacts:
    """A step of 100 ms, 80 of them waiting. What is not in ``samples`` of 100 looks was seen anywhere."""
    facts = made_run(wait_ms=80.0, work_ms=20.0, num_workers=2, load_cpu_ms=200.0, queue_depth=0, uses_gpu=True)
    rest = {"": 100 - sum(samples.values())}
    loading = made_loading({**samples, **rest}, slow_samples=slow)
    return altered(replace(facts, loading=loading), **known)


def cheaper(facts: RunFacts, bound: Bound = "data", **costs: float) -> list[Advice]:
    found = recommended(facts, bound, **(costs or {"cpu_limited": 0.7}))
    return [one for one in found.advice if one.change == "cheaper_transform"]


@pytest.mark.parametrize(("name", "samples"), SEEN)
def test_what_was_seen_is_advised_in_the_way_that_is_known_for_it(name: str, samples: Mapping[str, int]) -> None:
    (best,) = cheaper(waiting(samples))
    assert best.to == name
    assert best.evidence[0].value == 0.6
    assert best.predicted_speedup is best.low is best.high is None, "how fast the other way is was not measured"
    assert best.ceiling == pytest.approx(2.5)
    assert best.assumption is not None and "60%" in best.assumption and "2.50" in best.assumption


def test_every_way_in_the_table_has_been_seen() -> None:
    of_some_runs = {"arrays in place", "augmenting in collate_fn"}
    assert {name for name, _ in SEEN} | of_some_runs == {cost.name for cost in KNOWN_COSTS}


@pytest.mark.parametrize("cost", KNOWN_COSTS, ids=lambda cost: cost.name)
def test_a_known_way_says_where_it_is_said_and_what_to_write(cost: Any) -> None:
    assert all(source.startswith("https://") for source in cost.source.split(", "))
    assert any(line.startswith("+") for line in cost.write.splitlines())
    assert all(line[:1] in ("", " ", "+", "-") for line in cost.write.splitlines())


def test_the_line_is_named_and_is_where_the_change_is_written() -> None:
    (best,) = cheaper(waiting({RESIZE: 60}))
    assert best.why.startswith("Image.resize at data.py:41, in Photos.__getitem__: ")
    assert best.diff_file == "data.py:41"
    (of_library,) = cheaper(waiting({"Folder.__getitem__ torchvision/d.py:2 > Image.resize PIL/Image.py:2440": 60}))
    assert "below Folder.__getitem__" in of_library.why
    assert of_library.diff_file is None, "nobody changes what is installed"


def test_operators_belong_to_what_their_function_works_on() -> None:
    jitter = "Small.__getitem__ data.py:25 > Small.jitter data.py"
    small = {
        f"{jitter}:20": 13, f"{jitter}:19 > operator + data.py:19": 13, f"{jitter}:20 > torch.where data.py:20": 9,
        f"{jitter}:20 > operator + data.py:20": 9, f"{jitter}:19 > operator * data.py:19": 9,
        f"{jitter}:19 > torch.clamp data.py:19": 7,
    }  # fmt: skip
    (best,) = cheaper(waiting(small))
    assert (best.to, best.evidence[0].value) == ("fewer tensor operations", 0.6)
    scaled = "scaled data.py:9 > operator / data.py:9"
    of_arrays = {
        f"{OWN} > {scaled}": 40,
        f"{OWN} > np.asarray data.py:50": 20,
        f"{OWN} > torch.from_numpy data.py:50": 9,
    }
    assert [one.to for one in cheaper(waiting(of_arrays))] == ["arrays in float32"]


def test_arithmetic_in_float64_is_named_at_its_line_and_not_at_that_of_a_copy() -> None:
    """What the program calls is named as it writes it: ``IMG.astype`` of a global."""
    samples = {
        f"{OWN} > IMG.astype data.py:50": 24,
        "Photos.__getitem__ data.py:51 > operator - data.py:51": 38,
        "Photos.__getitem__ data.py:52 > pixels.copy data.py:52": 12,
        "Photos.__getitem__ data.py:49 > copy.copy data.py:49": 20,
    }
    best, *others = cheaper(waiting(samples))
    assert (best.to, best.diff_file, best.evidence[0].value) == ("arrays in float32", "data.py:51", 0.74)
    assert "arrays in float32" not in [one.to for one in others]


def test_what_reduced_decoding_saves_besides_is_said_not_to_be_counted() -> None:
    best = cheaper(waiting({DECODE: 60, RESIZE: 30}))[0]
    assert best.to == "reduced decoding" and best.assumption is not None
    assert (
        "Resizing and converting a smaller picture, 30% of loading now, takes less, too: not counted."
        in best.assumption
    )
    (alone, *_) = cheaper(waiting({DECODE: 60, RESIZE: 5}))
    assert alone.assumption is not None and "not counted" not in alone.assumption


@pytest.mark.parametrize("also", [{}, {f"{OWN} > torch.clamp data.py:50": 5, f"{OWN} > np.clip data.py:50": 5}])
def test_of_an_operator_alone_it_is_not_said_what_it_works_on(also: Mapping[str, int]) -> None:
    assert [one.to for one in cheaper(waiting({f"{OWN} > operator * data.py:50": 60, **also}))] == ["precomputing"]


def test_three_at_most_are_advised_what_takes_most_first() -> None:
    samples = {RESIZE: 25, DECODE: 30, f"{OWN} > astype data.py:50": 12, f"{OWN} > deepcopy copy.py:1": 15}
    assert [one.to for one in cheaper(waiting(samples))] == ["reduced decoding", "resized copies", "no deep copies"]


def test_the_speed_of_instant_data_is_not_passed() -> None:
    facts = waiting({RESIZE: 95})
    (best,) = cheaper(facts)
    assert best.ceiling == pytest.approx(5.0), "a step of 100 ms with 20 ms of work, not 1 / (1 - 0.95)"


def alone(share: int) -> RunFacts:
    """Without workers: a step of 100 ms, 61 of them loading."""
    facts = made_run(wait_ms=61.0, work_ms=39.0, num_workers=0, load_cpu_ms=60.0)
    return replace(facts, loading=made_loading({RESIZE: share, "": 100 - share}))


def test_without_workers_only_the_part_of_the_step_that_loads_is_shorter() -> None:
    (best,) = cheaper(alone(60), no_workers=0.6)
    assert best.ceiling == pytest.approx(1 / (1 - 0.6 * 0.61))
    (all_of_it,) = cheaper(alone(100), no_workers=0.6)
    assert all_of_it.ceiling == pytest.approx(1 / 0.39)


def test_what_may_be_gained_without_workers_does_not_come_before_what_is_promised() -> None:
    facts = altered(alone(60), host={"usable_cores": 2.0}, process={"host_busy_cores": 1.99})
    case = made_case(facts, made_verdict(cpu_limited=0.5, no_workers=0.1), lambda setting: 1 + setting.num_workers / 2)
    assert [one.change for one in recommend(case).advice][:2] == ["num_workers", "cheaper_transform"]


def test_what_may_be_gained_does_not_come_before_promised_workers_for_curing_the_leading_cause() -> None:
    seen = {"collate: pad train.py:9 > torch.tensor train.py:9": 60}
    facts = altered(waiting(seen), process={"host_busy_cores": 2.0})
    case = made_case(facts, made_verdict(slow_collate=0.5, cpu_limited=0.1), lambda setting: setting.num_workers / 2)
    order = [one.change for one in recommend(case).advice if one.change in ("num_workers", "cheaper_transform")]
    assert order == ["num_workers", "cheaper_transform"]


def test_little_work_is_not_worth_a_line() -> None:
    assert cheaper(waiting({RESIZE: 9})) == []
    assert [one.to for one in cheaper(waiting({RESIZE: 10}))] == ["resized copies"]


def sized(decoded: tuple[int, int], count: int = 40) -> list[Advice]:
    facts, sizes = waiting({DECODE: 60, RESIZE: 9}), [resized(decoded, (224, 224), count)]
    loading = made_loading({DECODE: 60, RESIZE: 9, "": 31}, picture_sizes=sizes)
    return cheaper(replace(facts, loading=loading))


def test_pictures_far_larger_than_used_are_named_with_their_sizes() -> None:
    (best,) = sized((4000, 3000))
    assert best.to == "reduced decoding"
    assert "Decoded at 4,000 × 3,000, used at 224 × 224: " in best.why
    assert "1/8 as wide and high as decoded now (500 × 375)" in best.why
    assert 'image.draft("RGB", (224, 224))' in best.diff
    evidence = {each.what: each.value for each in best.evidence}
    assert evidence["Looks at resizing 4,000 × 3,000 to 224 × 224"] == 40
    assert evidence["Of looks at resizing, to 1/8 or less"] == 1
    assert best.ceiling == pytest.approx(1 / (1 - 0.6)), "what decoding takes, as it was measured"


def test_where_a_draft_leaves_little_to_resize_it_is_the_one_fix_of_both() -> None:
    """A resize that takes more than decoding is of the larger picture."""
    samples = {DECODE: 25, RESIZE: 60}

    def advised(sizes: list[PictureSize]) -> list[Setting | None]:
        loading = made_loading({**samples, "": 15}, picture_sizes=sizes)
        return [one.to for one in cheaper(replace(waiting(samples), loading=loading))]

    assert advised([resized((4000, 3000), (224, 224), 40)]) == ["reduced decoding"]
    assert advised([]) == ["resized copies", "reduced decoding"], "not seen how much smaller"


def test_pictures_that_a_draft_made_smaller_are_not_decoded_larger_by_the_advice(tmp_path: Path) -> None:
    (best,) = sized((750, 500))
    path = tmp_path / "photo.jpg"
    Image.new("RGB", (3000, 2000)).save(path)
    advised = re.search(r'image\.draft\("RGB", \((\d+), (\d+)\)\)', best.diff or "")
    assert advised
    with Image.open(path) as image:
        image.draft("RGB", (int(advised[1]), int(advised[2])))
        assert image.size == (375, 250), "half of the size as decoded, not of the file's"


@pytest.mark.parametrize(("decoded", "is_offered"), [
    ((2400, 1600), True), ((400, 300), True), ((224, 224), False), ((200, 200), False),
])  # fmt: skip
def test_pictures_that_become_smaller_are_to_be_saved_at_the_size_that_is_used(
    decoded: tuple[int, int], is_offered: bool
) -> None:
    facts, sizes = waiting({RESIZE: 60}), [resized(decoded, (224, 224), 40)]
    loading = made_loading({RESIZE: 60, "": 40}, picture_sizes=sizes)
    (best,) = cheaper(replace(facts, loading=loading))
    assert best.to == ("resized copies" if is_offered else "precomputing")
    assert ("resize((224, 224)" in best.diff) == is_offered
    assert best.ceiling == pytest.approx(2.5)


def test_of_sizes_that_were_not_seen_the_needed_size_is_written() -> None:
    (best,) = cheaper(waiting({DECODE: 60, RESIZE: 9}))
    assert "(needed_width, needed_height)" in best.diff


def test_pictures_that_are_hardly_larger_than_used_are_not_to_be_decoded_smaller() -> None:
    assert [one.to for one in sized((400, 300))] == ["another decoder"]


def test_of_sizes_that_were_hardly_seen_the_condition_is_said() -> None:
    (best,) = sized((400, 300), count=9)
    assert best.to == "reduced decoding"
    assert "at least twice as wide" in best.why


@pytest.mark.parametrize("samples", [
    {f"{OWN} > float data.py:50": 20},
])  # fmt: skip
def test_what_a_gpu_would_do_is_not_given_to_a_process_without_one(samples: Mapping[str, int]) -> None:
    assert cheaper(waiting(samples)) != []
    assert cheaper(waiting(samples, rank={"uses_gpu": False})) == []


def test_random_changes_of_pictures_are_never_to_be_computed_once() -> None:
    """Turned by a random angle: for a whole batch at once, on the GPU or, without one, where it is joined."""
    seen = {f"{OWN} > Image.rotate PIL/Image.py:2500": 40, f"{OWN} > Image.filter PIL/Image.py:1300": 20}
    for uses_gpu, name in ((True, "augmenting batches"), (False, "augmenting in collate_fn")):
        (best,) = cheaper(waiting(seen, rank={"uses_gpu": uses_gpu}))
        assert (best.to, best.evidence[0].value) == (name, 0.6)
        assert "augment(batch)" in best.diff and "prepared" not in best.diff


@pytest.mark.parametrize(
    "draws", ["random.uniform data.py:49", "torch.randn data.py:49", "Random.uniform random.py:520"]
)
def test_a_result_that_random_numbers_are_drawn_for_is_not_to_be_computed_once(draws: str) -> None:
    plain, helped = {f"{OWN} > warp lib.py:80": 60}, {f"{OWN} > warped data.py:80 > warp lib.py:80": 60}
    before, beside = f"Photos.__getitem__ data.py:49 > {draws}", f"{OWN} > {draws}"
    (once,) = cheaper(waiting({**helped, before: 1}))
    assert "drawn" not in once.why, "in another line than the helper is called in"
    (once,) = cheaper(waiting(plain))
    (each_time,) = cheaper(waiting({**plain, before: 1}))
    assert cheaper(waiting({**helped, beside: 1}))[0].why.endswith(each_time.why.partition(": ")[2])
    assert (once.to, each_time.to) == ("precomputing", "precomputing")
    assert "self.prepared" in once.diff and "only what has nothing random in it" in once.diff
    assert "prepared" not in each_time.diff and "what depends on them cannot be computed once" in each_time.why


def test_methods_of_tensors_are_operations_on_them_where_their_function_works_on_tensors() -> None:
    signal = "Signals.__getitem__ data.py"
    samples = {
        f"{signal}:12 > operator - data.py:12": 22, f"{signal}:13 > mean data.py:13": 30,
        f"{signal}:13 > abs data.py:13": 10, f"{signal}:14 > torch.stack data.py:14": 2,
        f"{signal}:16 > max data.py:16": 18,
    }  # fmt: skip
    (best, *_) = cheaper(waiting(samples))
    assert (best.to, best.evidence[0].value, best.diff_file) == ("fewer tensor operations", 0.64, "data.py:13")
    assert [one.to for one in cheaper(waiting({f"{signal}:13 > mean data.py:13": 60}))] == ["precomputing"]


def test_a_share_of_several_lines_is_stated_as_their_sum() -> None:
    def saved(samples: Mapping[str, int]) -> str:
        return cheaper(waiting(samples))[0].assumption or ""

    sub = "Texts.__getitem__ data.py:15 > WORDS.sub data.py:15"
    find = "Texts.__getitem__ data.py:17 > WORDS.findall data.py:17"
    split = "Texts.__getitem__ data.py:17 > re.split data.py:17"
    assert "the 40% of loading that this takes would be" in saved({find: 40})
    assert "the 50% of loading that this line takes with all such calls would be" in saved({find: 40, split: 10})
    assert "the 55% of loading that this line and another one with such work take together would be" in saved(
        {find: 40, sub: 15}
    )


def test_numbers_that_a_byte_cannot_hold_stay_as_they_are() -> None:
    seen = {f"{OWN} > float data.py:50": 20}
    assert cheaper(waiting(seen, loader={"batch_fits_uint8": False})) == []


def test_copies_of_bytes_are_no_computing_in_floating_point() -> None:
    """Rows of a mapped file, which np.array reads."""

    def advised(dtypes: dict[str, int] | None) -> list[Setting | None]:
        facts = waiting({f"{OWN} > np.array data.py:17": 60})
        return [one.to for one in cheaper(altered(facts, loader={"batch_dtypes": dtypes}))]

    assert advised({"float64": 40_000, "int64": 128}) == advised(None) == ["arrays in float32"]
    assert advised({"uint8": 40_000}) == ["precomputing"]


FLOAT32 = {"batch_dtypes": {"float32": 40_000}}


@pytest.mark.parametrize("call", ["np.array", "np.asarray", "astype"])
def test_a_conversion_that_may_ask_for_float32_already_is_not_to_ask_for_it(call: str) -> None:
    (best,) = cheaper(waiting({f"{OWN} > {call} data.py:17": 60}, loader=FLOAT32))
    assert best.to == "precomputing" and "float32" not in f"{best.title} {best.why} {best.diff}"


def test_arithmetic_whose_result_is_float32_is_to_be_done_in_place() -> None:
    seen = {f"{OWN} > operator / data.py:50": 60, f"{OWN} > np.asarray data.py:50": 9}
    (best,) = cheaper(waiting(seen, loader=FLOAT32))
    assert (best.to, best.evidence[0].value) == ("arrays in place", 0.6)
    assert "float32" not in best.title


def test_a_generator_is_not_replaced_by_a_generator() -> None:
    assert [one.to for one in cheaper(waiting({f"{OWN} > np.random.default_rng data.py:17": 60}))] == ["precomputing"]


def test_a_line_for_which_nothing_is_known_is_named_where_it_computes() -> None:
    (best,) = cheaper(waiting({OWN: 60}))
    assert (best.to, best.diff_file) == ("precomputing", "data.py:50")
    assert cheaper(waiting({OWN: 20})) == []
    assert cheaper(waiting({"collate: pad train.py:9": 9, OWN: 30})) != []
    blocked = waiting({OWN: 60}, batches={"cpu_us": 20_000.0, "blocked_us": 180_000.0})
    assert cheaper(blocked) == [], "what waits is not made cheaper by computing less"


def test_the_costliest_line_is_named_before_a_smaller_one_that_a_cheaper_way_is_known_for() -> None:
    smaller = {f"{OWN} > deepcopy copy.py:1": 15}
    assert [one.to for one in cheaper(waiting({f"{OWN} > features data.py:9": 50, **smaller}))] == [
        "precomputing", "no deep copies",
    ]  # fmt: skip
    assert [one.to for one in cheaper(waiting({f"{OWN} > features data.py:9": 20, **smaller}))] == ["no deep copies"]


def test_a_helper_is_advised_about_with_its_callers() -> None:
    shrunk = "shrunk data.py:9 > Image.resize PIL/Image.py:2440"
    by_caller = {f"Photos.__getitem__ data.py:41 > {shrunk}": 40, f"Photos.__getitem__ data.py:45 > {shrunk}": 20}
    (best,) = cheaper(waiting(by_caller))
    assert best.why.startswith(
        "Image.resize at data.py:9, in shrunk, through Photos.__getitem__ at data.py:41 (40%), "
        "Photos.__getitem__ at data.py:45 (20%): "
    )


@pytest.mark.parametrize("bound", ["compute", "host", "transfer"])
def test_a_run_that_does_not_wait_for_data_gets_none(bound: Bound) -> None:
    assert cheaper(waiting({RESIZE: 60}), bound, cpu_limited=0.7) == []


def test_nothing_is_advised_of_a_few_looks_or_none() -> None:
    facts = waiting({RESIZE: 60})
    assert cheaper(replace(facts, loading=made_loading({RESIZE: 60}))) == []
    assert cheaper(replace(facts, loading=None)) == []


def test_joining_is_advised_once() -> None:
    found = recommended(waiting({"collate: pad train.py:9": 60}), slow_collate=0.5)
    assert "collating with one call" not in {one.to for one in found.advice}
    assert "vectorize_collate" in {one.change for one in found.advice}


MB = 1_000_000
SLOW = [
    slow_sample(18_233, 2.1, "scans/0481.dcm", 109 * MB), slow_sample(77, 1.9, "scans/0077.dcm", 120 * MB),
    slow_sample(5, 0.4, "scans/0005.dcm", 2 * MB),
]  # fmt: skip


def test_slow_samples_are_named_with_their_files() -> None:
    (best,) = cheaper(waiting({}, SLOW), slow_samples=0.4)
    assert best.to == "slow samples prepared"
    assert "Loading index 18,233, scans/0481.dcm takes 2.1 s" in best.why
    assert "2 of the slowest 3 are of files about as large" in best.why
    evidence = {each.what: each.value for each in best.evidence}
    assert evidence["Loading index 18,233, scans/0481.dcm"] == 2_100_000
    assert evidence["Size of that file"] == 109 * MB
    assert evidence["Of the 3 slowest samples, with a file of 100 MiB or more"] == 2
    assert best.ceiling == pytest.approx(1 / 0.6)


def test_a_sample_that_waited_for_a_core_has_both_its_times() -> None:
    waited = slow_sample(137, 7.12, "scans/137.bin", 60 * MB).model_copy(update={"runqueue_us": 6_260_000})
    (best,) = cheaper(waiting({}, [waited]), slow_samples=0.4)
    assert "takes 7.12 s, 860 ms of it without waiting for a core, and ready batches wait for it." in best.why
    assert not any("slowest samples" in each.what for each in best.evidence), "it is the only one"


def test_samples_of_one_large_file_count_each() -> None:
    shards = [slow_sample(index, 2.0, f"shard-{index % 2}.tar", 109 * MB) for index in range(18)]
    (best,) = cheaper(waiting({}, [*shards, *SLOW[2:]]), slow_samples=0.4)
    assert "18 of the slowest 19 are of files about as large" in best.why


def test_slow_samples_without_a_name_are_not_advised_about() -> None:
    assert cheaper(waiting({}, [slow_sample(None, 2.0)]), slow_samples=0.4) == []
    assert cheaper(waiting({}, []), slow_samples=0.4) == []


def test_what_all_samples_do_holds_none_of_them_up() -> None:
    assert [one.to for one in cheaper(waiting({RESIZE: 60}, SLOW), slow_samples=0.4)] == ["slow samples prepared"]
    both = cheaper(waiting({RESIZE: 60}, SLOW), slow_samples=0.2, cpu_limited=0.4)
    assert [one.to for one in both] == ["resized copies"], "they are not what the run waits for most"


def test_what_pillow_does_on_when_it_has_decoded_counts_as_decoding() -> None:
    convert = "Photos.__getitem__ data.py:40 > Image.convert PIL/Image.py"
    seen = {f"{convert}:1067 > ImageFile.load PIL/ImageFile.py:425": 40, f"{convert}:1130": 15}
    (best,) = cheaper(waiting(seen))
    assert (best.to, best.evidence[0].value) == ("another decoder", 0.55)
    elsewhere = "Photos.__getitem__ data.py:44 > Image.convert PIL/Image.py:1130"
    (best,) = cheaper(waiting({DECODE: 40, elsewhere: 15}))
    assert best.evidence[0].value == 0.4, "what is converted there was decoded before"


LINE_FIRST, WORKERS_FIRST = ["cheaper_transform", "num_workers"], ["num_workers", "cheaper_transform"]


@pytest.mark.parametrize(("seen", "usable", "a_worker", "order"), [
    (RESIZE, 4.0, 0.05, LINE_FIRST), (RESIZE, 8.0, 0.05, LINE_FIRST),
    # Half as fast again with six more is within a quarter of the line's × 1.87 at least; × 1.42 is not.
    (RESIZE, 8.0, 0.09, WORKERS_FIRST), (RESIZE, 8.0, 0.07, LINE_FIRST),
    # No cheaper way is known of it: only where there is no core for a worker.
    (OWN, 4.0, 0.05, LINE_FIRST), (OWN, 8.0, 0.05, WORKERS_FIRST),
])  # fmt: skip
def test_less_work_comes_before_more_workers_that_help_less(
    seen: str, usable: float, a_worker: float, order: list[str]
) -> None:
    facts = altered(seen_often({seen: 60}), host={"usable_cores": usable}, process={"host_busy_cores": 3.9})
    case = made_case(facts, made_verdict(cpu_limited=0.5), lambda setting: 1 + a_worker * (setting.num_workers - 2))
    assert [one.change for one in recommend(case).advice if one.change in order] == order


@pytest.mark.parametrize(("_name", "samples"), SEEN)
def test_of_every_known_way_the_line_comes_before_workers_that_gain_half_as_much(
    _name: str, samples: Mapping[str, int]
) -> None:
    facts = altered(seen_often(samples), host={"usable_cores": 8.0}, process={"host_busy_cores": 3.9})
    case = made_case(facts, made_verdict(too_few_workers=0.5), lambda setting: 1 + 0.03 * (setting.num_workers - 2))
    assert [one.change for one in recommend(case).advice if one.change in LINE_FIRST] == LINE_FIRST


def test_joining_that_takes_nearly_all_of_loading_comes_before_more_workers_though_their_cause_leads() -> None:
    def order(collate_us: float) -> list[str]:
        facts = altered(waiting({}), batches={"collate_us": collate_us}, host={"usable_cores": 8.0})
        verdict = made_verdict(too_few_workers=0.5, slow_collate=0.2)
        case = made_case(facts, verdict, lambda setting: 1 + 0.15 * (setting.num_workers - 2))
        return [one.change for one in recommend(case).advice]

    assert order(190_000.0)[:2] == ["vectorize_collate", "num_workers"]
    assert order(90_000.0)[:2] == ["num_workers", "vectorize_collate"], "half of loading gone gains no more than they"


@pytest.mark.parametrize(("factor", "first"), [(1.2, "vectorize_collate"), (4.8, "prefetch_factor")])
def test_a_costly_line_comes_before_a_longer_queue_that_cannot_help_as_much(factor: float, first: str) -> None:
    """Nine tenths of a load wait for a core, in the joining as in the rest."""
    batches = {"load_us": 200_000.0, "collate_us": 18_000.0, "cpu_us": 20_000.0, "runqueue_us": 180_000.0}
    verdict = made_verdict(cpu_limited=0.4, slow_collate=0.1)
    case = made_case(
        altered(waiting({}), batches=batches), verdict, lambda setting: factor if setting.prefetch_factor == 8 else 1.0
    )
    advice = [one for one in recommend(case).advice if one.change in ("vectorize_collate", "prefetch_factor")]
    assert advice[0].change == first
    joining = next(one for one in advice if one.change == "vectorize_collate")
    assert joining.ceiling == pytest.approx(5.0), (
        "of the time that loading takes, not of its time on a CPU: instant data"
    )
    assert joining.assumption is not None and "the 90% of loading that joining takes" in joining.assumption


def test_preparing_slow_samples_comes_before_a_queue_that_may_be_a_loss() -> None:
    facts = waiting({}, SLOW)
    case = made_case(facts, made_verdict(slow_samples=0.3), lambda _setting: 1.0)
    queue = Advice.model_validate(
        {"change": "prefetch_factor", "loader": "train", "from": 2, "to": 8, "predicted_speedup": None, "low": 0.85,
         "high": 1.79, "settings": {"prefetch_factor": 8}, "title": "", "why": "", "evidence": [], "risk": "",
         "changes_batch_order": False, "diff": "", "ceiling": None, "command": None, "assumption": None,
         "anatomy": None, "diff_file": None}
    )  # fmt: skip
    (prepare,) = cheaper(facts, slow_samples=0.3)
    assert prepare.ceiling is not None and queue.high is not None and prepare.ceiling < queue.high
    assert in_order(case, [queue, prepare]) == [prepare, queue]
    gains = queue.model_copy(update={"low": 1.05, "predicted_speedup": 1.4})
    assert in_order(case, [gains, prepare]) == [gains, prepare], "one that promises a gain"


def seen_often(samples: Mapping[str, int], times: int = 100) -> RunFacts:
    """As :func:`waiting`, with so many times the looks: chance has little part in the margins."""
    facts = waiting(samples)
    rest = {"": 100 - sum(samples.values())}
    return replace(facts, loading=made_loading({key: times * count for key, count in {**samples, **rest}.items()}))


def test_a_ceiling_has_the_ends_of_the_share_that_it_is_of() -> None:
    (best,) = cheaper(seen_often({RESIZE: 60}))
    share = best.evidence[0]
    assert share.margin_fraction is not None and 0.12 < share.margin_fraction < 0.15
    assert best.ceiling_low == pytest.approx(1 / (1 - 0.6 + share.margin_fraction))
    assert best.ceiling_high == pytest.approx(1 / (1 - 0.6 - share.margin_fraction))
    gain = f"about × 2.50 ({best.ceiling_low:.2f} to {best.ceiling_high:.2f} by the margin of that share)"
    assert best.assumption is not None and gain in best.assumption
    assert best.ceiling_of == "60% of loading"
    fewer = cheaper(waiting({RESIZE: 60}))[0]
    assert fewer.ceiling == best.ceiling and (fewer.ceiling_low or 9) < (best.ceiling_low or 0), "fewer looks say less"


def test_a_ceiling_of_several_lines_says_so() -> None:
    sub = "Texts.__getitem__ data.py:15 > WORDS.sub data.py:15"
    find = "Texts.__getitem__ data.py:17 > WORDS.findall data.py:17"
    assert cheaper(waiting({find: 40, sub: 15}))[0].ceiling_of == (
        "55% of loading, in this line and another one with such work"
    )
    assert cheaper(waiting({find: 40}))[0].ceiling_of == "40% of loading"


def test_what_is_known_badly_does_not_come_before_what_is_known_well() -> None:
    """Of two calls the larger one was found in two groups of bursts alone."""
    copied, drawn = f"{OWN} > deepcopy copy.py:1", f"{OWN} > np.random.randn data.py:50"
    loading = made_loading({copied: 330, drawn: 320, "": 350})
    looks = loading.samples[next(key for key in loading.samples if key[1][-1:] == (("deepcopy", "copy.py", 1),))]
    looks[:] = 0
    looks[:2] = 165
    ordered = [one.to for one in cheaper(replace(waiting({copied: 50}), loading=loading))]
    assert ordered == ["a generator of random numbers", "no deep copies"]
