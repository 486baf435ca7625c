"""The line that most loading is in: of the program, else of the library."""

from __future__ import annotations

import pytest

from tests.app.made_loading import made_loading
from underfed_server.facts.costly_lines import costliest_line, share_of

RESIZE = "Photos.__getitem__ data.py:41 > Image.resize PIL/Image.py:2440 > resize PIL/Image.py:2440"
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
def test_a_line_is_told_as_the_program_wrote_it(stack: str, said: str) -> None:
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


def test_of_a_few_looks_nothing_is_said() -> None:
    assert costliest_line(made_loading({RESIZE: 99})) is None
    assert share_of(made_loading({RESIZE: 99}), lambda _stage, _places: True) is None
