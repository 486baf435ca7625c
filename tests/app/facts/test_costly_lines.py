"""The line that most loading is in: of the program, else of the library."""

from __future__ import annotations

import pytest

from tests.app.made_loading import made_loading
from underfed_server.facts.costly_lines import costliest_line, costly_lines, name_of, share_of

RESIZE = "Photos.__getitem__ data.py:41 > Image.resize PIL/Image.py:2440 > resize PIL/Image.py:2440"
CALLED = "Module._wrapped_call_impl torch/nn/modules/module.py:1773"
CONVERT = "Photos.__getitem__ data.py:40 > Image.convert PIL/Image.py:1067 > ImageFile.load PIL/ImageFile.py:425"


@pytest.mark.parametrize(("stack", "said"), [
    (RESIZE, "Image.resize at data.py:41, in Photos.__getitem__"),
    ("Photos.__getitem__ data.py:41 > cv2.resize data.py:41", "cv2.resize at data.py:41, in Photos.__getitem__"),
    ("Photos.__getitem__ data.py:41", "Photos.__getitem__ at data.py:41"),
    ("Photos.__getitem__ data.py:41 > crop data.py:60 > Image.resize PIL/Image.py:2440",
     "Image.resize at data.py:60, in crop"),
    ("Compose.__call__ torchvision/t.py:95 > Scale.__call__ data.py:12 > Image.resize PIL/Image.py:2440",
     "Image.resize at data.py:12, in Scale.__call__"),
    ("ImageFolder.__getitem__ torchvision/folder.py:245 > Image.resize PIL/Image.py:2440 > resize PIL/Image.py:2440",
     "Image.resize at PIL/Image.py:2440, below ImageFolder.__getitem__"),
    ("default_collate torch/collate.py:401", "default_collate at torch/collate.py:401"),
    ("generated <string>", "generated at <string>"),
])  # fmt: skip
def test_a_line_is_named_as_the_program_wrote_it(stack: str, said: str) -> None:
    line = costliest_line(made_loading({stack: 100}))
    assert line is not None
    assert (str(line), line.fraction) == (said, 1.0)


def test_stacks_that_part_below_a_line_count_together() -> None:
    loading = made_loading({RESIZE: 30, RESIZE.replace("2440", "2450"): 25, CONVERT: 45})
    line = costliest_line(loading)
    assert line is not None
    assert (line.line, line.fraction) == (41, 0.55)


def test_of_the_stacks_that_are_meant_shares_are_of_all_loading() -> None:
    loading = made_loading({RESIZE: 60, CONVERT: 30, "collate: pad train.py:9": 10, "": 100})
    line = costliest_line(loading, lambda stage, _places: stage == "collate")
    assert line is not None
    assert (str(line), line.fraction) == ("pad at train.py:9", 0.05)
    assert share_of(loading, lambda stage, _places: stage == "getitem" and bool(_places)) == 0.45
    assert costliest_line(loading, lambda _stage, _places: False) is None


SPIN = "spin train.py:9"
"""A helper of the program."""


def callers(*stacks: tuple[str, int]) -> list[tuple[str, float]]:
    """Of the costliest line."""
    line = costliest_line(made_loading(dict(stacks)))
    assert line is not None
    return [(name_of(place), fraction) for place, fraction, _margin in line.callers]


def test_a_line_that_several_places_call_is_broken_up_by_them() -> None:
    line = f"Photos.__getitem__ data.py:41 > decode data.py:15 > {SPIN}"
    other = f"Photos.__getitem__ data.py:42 > augment data.py:20 > {SPIN}"
    assert callers((line, 60), (other, 38), ("collate: pad data.py:50", 2)) == [
        ("decode at data.py:15", 0.6), ("augment at data.py:20", 0.38),
    ]  # fmt: skip


def test_ways_are_distinguished_by_where_they_part() -> None:
    within = f"work train.py:30 > {SPIN}"
    assert callers((f"decode data.py:15 > {within}", 60), (f"augment data.py:20 > {within}", 40)) == [
        ("decode at data.py:15", 0.6), ("augment at data.py:20", 0.4),
    ]  # fmt: skip


def test_a_line_with_one_caller_is_not_broken_up_by_it() -> None:
    assert callers((f"decode data.py:15 > {SPIN}", 96), (f"augment data.py:20 > {SPIN}", 4)) == []
    assert callers((SPIN, 100)) == []


def test_a_function_that_calls_itself_is_no_caller_of_its_own() -> None:
    deep = f"spin train.py:12 > spin train.py:12 > {SPIN}"
    assert callers((f"decode data.py:15 > {deep}", 50), (f"decode data.py:15 > {SPIN}", 50)) == []


def test_of_a_line_that_libraries_call_the_libraries_are_named() -> None:
    assert callers((f"Compose.__call__ tv/t.py:95 > {SPIN}", 50), (f"Lambda.__call__ tv/t.py:499 > {SPIN}", 50)) == [
        ("Compose.__call__ at tv/t.py", 0.5), ("Lambda.__call__ at tv/t.py", 0.5),
    ]  # fmt: skip
    assert callers((f"Compose.__call__ tv/t.py:95 > {SPIN}", 50), (f"Compose.__call__ tv/t.py:97 > {SPIN}", 50)) == []


def test_of_a_few_looks_nothing_is_said() -> None:
    assert costliest_line(made_loading({RESIZE: 99})) is None
    assert share_of(made_loading({RESIZE: 99}), lambda _stage, _places: True) is None


@pytest.mark.parametrize(("behind", "named"), [
    ("_std numpy/_core/_methods.py:220 > _var numpy/_core/_methods.py:150", "numpy.std"),
    ("_std numpy/core/_methods.py:220", "numpy.std"),
    (f"{CALLED} > Module._call_impl torch/nn/modules/module.py:1784 > Normalize.forward torchvision/transforms.py:9",
     "Normalize"),
    ("Optimizer.profile_hook_step.wrapper torch/optim/optimizer.py:493 > _use_grad_for_differentiable._use_grad "
     "torch/optim/optimizer.py:91 > SGD.step torch/optim/sgd.py:125", "SGD.step"),
    ("_disable_dynamo.inner torch/_compile.py:53 > Optimizer.zero_grad torch/optim/optimizer.py:980",
     "Optimizer.zero_grad"),
    ("Compose.__call__ torchvision/transforms.py:95 > Resize.forward torchvision/transforms.py:350",
     "Compose.__call__"),
    ("_prepared lib/inside.py:3", "_prepared"), ("_C._crop data.py:41", "_C._crop"),
])  # fmt: skip
def test_what_the_program_calls_has_its_public_name(behind: str, named: str) -> None:
    (line,) = costly_lines(made_loading({f"Photos.__getitem__ data.py:41 > {behind}": 200}), most=9)
    assert line.called == named


def test_looks_that_found_nothing_public_count_for_what_others_found_behind_the_same_call() -> None:
    own = f"Photos.__getitem__ data.py:41 > {CALLED}"
    step = "main train.py:26 > Optimizer.profile_hook_step.wrapper torch/optim/optimizer.py:493"
    steps = {
        f"{step} > record_function.__enter__ torch/autograd/profiler.py:760": 50,
        f"{step} > SGD.step torch/optim/sgd.py:125": 150,
    }
    assert [line.called for line in costly_lines(made_loading(steps), most=9)] == ["SGD.step"]
    seen = {f"{own} > Normalize.forward torchvision/transforms.py:9": 150, own: 50}
    assert [(line.called, line.fraction) for line in costly_lines(made_loading(seen), most=9)] == [("Normalize", 1.0)]
