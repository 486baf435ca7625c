"""Whether a floating-point tensor holds nothing that eight bits could not carry, as a sample of its values shows.

Memory is read, and nothing asked of torch but where it is: no operation of its own runs on the training thread.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Mapping
from typing import Any

from underfed.host.signal_handlers import let_through

CODES: Mapping[str, str] = {"torch.float32": "f", "torch.float64": "d"}
PIECES, PIECE = 16, 32
"""512 values, spread over the tensor: 60 to 100 µs, once for each loader."""

FEWEST_VALUES = 3
"""Different ones: zeros and ones are masks or padding, which say nothing of the values that follow."""

NEAR = 1e-3
"""From a whole number, after multiplication by 255: what division in 32 bits leaves is a hundredth of that."""


def fits_uint8(tensor: Any) -> bool | None:
    """Whether its values are whole numbers from 0 to 255, or such divided by 255. ``None``: it cannot be told."""
    try:
        values = _sampled(tensor)
    except Exception as error:
        let_through(error)
        return None
    if values is None or len(set(values)) < FEWEST_VALUES:
        return None
    if all(0 <= value <= 255 and value == int(value) for value in values):
        return True
    return all(0 <= value <= 1 and abs(value * 255 - round(value * 255)) < NEAR for value in values)


def _sampled(tensor: Any) -> array[float] | None:
    """``None`` where it is no dense tensor in this process's memory."""
    import torch

    code = CODES.get(str(tensor.dtype))
    if type(tensor) is not torch.Tensor or code is None or tensor.layout is not torch.strided:
        return None
    if tensor.device.type != "cpu" or not tensor.is_contiguous():
        return None
    count, size, address = tensor.numel(), tensor.element_size(), tensor.data_ptr()
    if not (count and address):
        return None
    length = min(PIECE, count)
    values: array[float] = array(code)
    for each in range(PIECES if count > length else 1):
        start = (count - length) * each // (PIECES - 1)
        values.frombytes(ctypes.string_at(address + start * size, length * size))
    return values
