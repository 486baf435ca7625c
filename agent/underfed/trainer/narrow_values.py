"""Whether a floating-point tensor holds nothing that eight bits could not carry, as a sample of its values shows.

Memory is read, and nothing asked of torch but where it is: no operation of its own runs on the training thread.
"""

from __future__ import annotations

import ctypes
import math
from array import array
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from underfed.host.signal_handlers import let_through

CODES: Mapping[str, str] = {"torch.float32": "f", "torch.float64": "d"}
PIECES, PIECE = 16, 32
"""512 values, spread over the tensor, 32 beside each other. Once a loader: 60 to 100 µs for most tensors, 0.5 ms
for pictures that were normalised."""

FEWEST_VALUES = 3
"""Different ones: zeros and ones are masks or padding, which say nothing of the values that follow."""

NEAR = 1e-3
"""From a whole number, after multiplication by 255: what division in 32 bits leaves is a hundredth of that."""

LEVELS = 256
OFF = 0.05
"""From a level, in steps."""

NOISE = 2e-5
"""Of the largest value: a hundred times what rounding to 32 bits leaves, as do multiples of differences. Steps of
channels (by 0.224 and by 0.225) differ by more."""

FEWEST_STEPS = 4
"""Of a piece: over fewer the length of a step is not known well enough."""

MOST_GRIDS = 4
"""Channels, each normalised by a mean and a deviation of its own."""

ENOUGH = 32
"""Different values, counted by piece: one of ten lies on such a grid by chance."""


COLOURS = (2, 3, 4)
"""Channels of a picture, by which its values are distinguished: the axis of that length is taken for theirs."""


class Piece(NamedTuple):
    """Values of one channel."""

    channel: int | None
    """``None``: it holds no pictures, or of one channel."""
    values: array[float]


class Grid(NamedTuple):
    """Numbers at equal steps, at most ``LEVELS``."""

    least: float
    most: float
    step: float


def fits_uint8(tensor: Any) -> bool | None:
    """Whether its values are whole numbers from 0 to 255, such divided by 255, or as few at equal steps: a picture that
    was normalised, each channel by its own mean and deviation. ``None``: that is not known.
    """
    try:
        pieces = _sampled(tensor)
    except Exception as error:
        let_through(error)
        return None
    values = [value for piece in pieces or () for value in piece.values]
    if len(set(values)) < FEWEST_VALUES:
        return None
    if all(0 <= value <= 255 and value == int(value) for value in values):
        return True
    if all(0 <= value <= 1 and abs(value * 255 - round(value * 255)) < NEAR for value in values):
        return True
    return all(map(math.isfinite, values)) and _are_on_grids(pieces or ())


def _are_on_grids(pieces: Iterable[Piece]) -> bool:
    """Whether each piece lies on one of a few grids, and all of a channel on the same."""
    grids: list[tuple[int | None, Grid]] = []
    seen = 0
    for channel, levels in ((piece.channel, sorted(set(piece.values))) for piece in pieces):
        if len(levels) < FEWEST_VALUES:
            continue
        own = _grid(levels)
        if own is None:
            return False
        if own.most - own.least < (FEWEST_STEPS - OFF) * own.step:
            continue
        seen += len(levels)
        known = [(place, one) for place, (whose, one) in enumerate(grids) if whose == channel]
        place, joined = next(((place, both) for place, one in known if (both := _joined(one, own))), (len(grids), own))
        if len(grids) == place and (len(grids) == MOST_GRIDS or (known and channel is not None)):
            return False
        grids[place : place + 1] = [(channel, joined)]
    # Parts of one grid that has too many levels are no channels. Channels that are known may have whole steps between
    # them, as where each had a whole number subtracted.
    unnamed = [one for channel, one in grids if channel is None]
    return seen >= ENOUGH and not any(_are_one(one, other) for one in unnamed for other in unnamed if one is not other)


def _grid(levels: list[float]) -> Grid | None:
    """The coarsest on which all lie. ``levels``: in order."""
    # Short ones first: what rounding left of them is multiplied the least.
    step = _common(levels[0], levels[-1], sorted(upper - lower for lower, upper in pairwise(levels)))
    if step is None:
        return None
    places = ((level - levels[0]) / step for level in levels)
    return Grid(levels[0], levels[-1], step) if all(abs(place - round(place)) < OFF for place in places) else None


def _joined(one: Grid, other: Grid) -> Grid | None:
    least, most = min(one.least, other.least), max(one.most, other.most)
    step = _common(least, most, (one.step, other.step, abs(one.least - other.least)))
    return None if step is None else Grid(least, most, step)


def _are_one(one: Grid, other: Grid) -> bool:
    apart = math.remainder(one.least - other.least, one.step)
    return abs(one.step - other.step) < OFF / LEVELS * one.step and abs(apart) < OFF * one.step


def _common(least: float, most: float, lengths: Iterable[float]) -> float | None:
    """The greatest of which all are multiples (Euclid). ``None``: too many of it lie between ``least`` and ``most``."""
    span, noise = most - least, NOISE * max(abs(least), abs(most))
    finest = max((1 - OFF) * span / (LEVELS - 1), noise / OFF)
    step = 0.0
    for length in lengths:
        rest = length
        while rest > noise:
            step, rest = rest, abs(math.remainder(step, rest))
        if step < finest:
            return None
    steps = round(span / step)
    return span / steps if steps < LEVELS else None


def _sampled(tensor: Any) -> list[Piece] | None:
    """Values beside each other. ``None`` where it is no dense tensor in this process's memory."""
    import torch

    code = CODES.get(str(tensor.dtype))
    if type(tensor) is not torch.Tensor or code is None or tensor.layout is not torch.strided:
        return None
    is_nhwc = tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last)
    if tensor.device.type != "cpu" or not (is_nhwc or tensor.is_contiguous()):
        return None
    count, size, address = tensor.numel(), tensor.element_size(), tensor.data_ptr()
    if not (count and address):
        return None
    beside, plane = _channels(tensor, is_nhwc=is_nhwc and not tensor.is_contiguous())
    length, looks = min(PIECE * beside, count), PIECES // beside
    pieces = []
    for each in range(looks if count > length else 1):
        start = (count - length) * each // (looks - 1)
        start -= start % beside
        if plane and plane >= length:
            start -= max(0, start % plane + length - plane)
        read: array[float] = array(code)
        read.frombytes(ctypes.string_at(address + start * size, length * size))
        if beside > 1:
            pieces += [Piece(channel, read[channel::beside]) for channel in range(beside)]
        else:
            has_planes = tensor.dim() > 3 and tensor.shape[-3] in COLOURS
            pieces.append(Piece(start // plane % tensor.shape[-3] if has_planes and plane else None, read))
    return pieces


def _channels(tensor: Any, *, is_nhwc: bool) -> tuple[int, int]:
    """How many values of different channels lie beside each other in memory, and how many of one do where each is a
    plane of its own; 1 and 0 of what is no picture."""
    if tensor.dim() < 3:
        return 1, 0
    if is_nhwc:
        return (tensor.shape[1], 0) if tensor.shape[1] in COLOURS else (1, 0)
    return (tensor.shape[-1], 0) if tensor.shape[-1] in COLOURS else (1, math.prod(tensor.shape[-2:]))
