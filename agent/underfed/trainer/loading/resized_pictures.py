"""From which size to which a picture is being resized where somebody looks, read from the frames of what resizes it.

Looked into are frames of a few functions of Pillow, torch and Albumentations, known by name and file. Of their
variables only numbers are taken, and sizes of objects whose class is exactly such a library's own: nothing is asked of
what could answer by running code of the program. Frames of the program are left alone: up to Python 3.12 looking into
them would keep their variables alive.
"""

from __future__ import annotations

import sys
from abc import ABCMeta
from collections.abc import Callable, Mapping
from types import FrameType, ModuleType
from typing import Any

from underfed.exchange.picture_sizes import Resized

MOST_PIXELS = 1_000_000
"""Of a side. What says more is no picture."""

Size = tuple[int, int]
"""Width and height."""

Reader = Callable[[Mapping[str, Any], "Resized | None"], "Resized | None"]
"""Reads a frame's variables. With what was read of a frame within, where there was one."""


def resized_at(frame: FrameType | None, end: FrameType) -> Resized | None:
    """Of the frames from ``frame``, the innermost, to ``end``. ``None``: nothing is resized there, or it is not known.

    Of several the outermost counts: Pillow resizes in two steps, and torchvision by way of Pillow and torch.
    """
    found: Resized | None = None
    while frame is not None and frame is not end:
        code = frame.f_code
        for file, read in READERS.get(code.co_name, ()):
            if code.co_filename.endswith(file):
                found = read(frame.f_locals, found) or found
        frame = frame.f_back
    return found


def _pillow_resize(names: Mapping[str, Any], within: Resized | None) -> Resized | None:
    """``Image.resize(self, size, resample, box, reducing_gap)``."""
    whole = _size_of_image(names.get("self"))
    cut = _numbers(names.get("box"), 4)
    decoded = whole if cut is None else (round(cut[2] - cut[0]), round(cut[3] - cut[1]))
    factor = _numbers(names.get("factor"), 2)
    if decoded is not None and factor is not None and within is None and cut and type(cut[0]) is float:
        # The first of two steps is done: ``self`` is its result, and ``box`` was divided by the factor.
        decoded = round(decoded[0] * factor[0]), round(decoded[1] * factor[1])
    return _resized(decoded, _whole(names.get("size")))


def _pillow_reduce(names: Mapping[str, Any], _within: Resized | None) -> Resized | None:
    """``Image.reduce(self, factor, box)``."""
    decoded, factor = _size_of_image(names.get("self")), names.get("factor")
    factors = _whole((factor, factor) if type(factor) is int else factor)
    if decoded is None or factors is None or min(factors) < 1:
        return None
    return _resized(decoded, (-(-decoded[0] // factors[0]), -(-decoded[1] // factors[1])))


def _torch_interpolate(names: Mapping[str, Any], _within: Resized | None) -> Resized | None:
    """``interpolate(input, size, …)``, of pictures: batch, channels, height and width."""
    shape = _shape(names.get("input"), "torch", "Tensor")
    is_picture = len(shape) == 4 and shape[1] <= 4
    size = names.get("size")
    used = _whole((size, size) if type(size) is int else size)
    return _resized((shape[3], shape[2]), used and used[::-1]) if is_picture else None


def _albumentations_resize(names: Mapping[str, Any], _within: Resized | None) -> Resized | None:
    """``resize(img, target_shape, interpolation)``: height and width come first."""
    shape, used = _shape(names.get("img"), "numpy", "ndarray"), _whole(names.get("target_shape"))
    return _resized((shape[1], shape[0]), used and used[::-1]) if len(shape) in (2, 3) else None


READERS: Mapping[str, tuple[tuple[str, Reader], ...]] = {
    "resize": (
        ("/PIL/Image.py", _pillow_resize),
        ("/albumentations/augmentations/geometric/functional.py", _albumentations_resize),
    ),
    "reduce": (("/PIL/Image.py", _pillow_reduce),),
    "interpolate": (("/torch/nn/functional.py", _torch_interpolate),),
}
"""By the function's name: its file and how its variables are read."""


def _resized(decoded: Size | None, used: Size | None) -> Resized | None:
    if decoded is None or used is None or not all(1 <= side <= MOST_PIXELS for side in (*decoded, *used)):
        return None
    return *decoded, *used


def _size_of_image(image: Any) -> Size | None:
    """Of one of Pillow's own classes. ``size`` would be a call of it."""
    if not _is_pillows(type(image)):
        return None
    try:
        return _whole(object.__getattribute__(image, "_size"))
    except AttributeError:  # it is being constructed
        return None


def _is_pillows(kind: Any) -> bool:
    """It is the class that a module of Pillow's has under its name."""
    module = kind.__module__ if type(kind) in (type, ABCMeta) else None  # another metaclass may run code when asked
    if type(module) is not str or not module.startswith("PIL."):
        return False
    return _in_module(module, kind.__name__) is kind


def _shape(array: Any, module: str, name: str) -> tuple[int, ...]:
    """Of an object whose class is exactly this one; else empty."""
    return tuple(array.shape) if type(array) is _in_module(module, name) else ()


def _in_module(module: str, name: str) -> Any:
    """``None``: it was not imported, or is no plain module: one of another class may run code when it is asked."""
    loaded = sys.modules.get(module)
    return vars(loaded).get(name) if type(loaded) is ModuleType else None


def _whole(size: Any) -> Size | None:
    numbers = _numbers(size, 2)
    if numbers is None or not all(type(each) is int for each in numbers):
        return None
    return int(numbers[0]), int(numbers[1])


def _numbers(values: Any, count: int) -> tuple[float, ...] | None:
    """``values`` where they are so many numbers of Python's own types, in a list or a tuple."""
    if type(values) not in (list, tuple) or len(values) != count:
        return None
    return tuple(values) if all(type(each) in (int, float) for each in values) else None
