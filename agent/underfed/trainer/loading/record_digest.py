"""What a record of a data set holds, in eight bytes: equal for equal content, in whichever process it was loaded."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

DIGEST_BYTES = 8
NUMBERS = (int, float, complex, bool, type(None))


def digest(record: Any) -> bytes:
    """Of tensors, arrays and texts; of numbers only where there is nothing else: one beside a text may be the worker's
    own, or a time.

    Runs code of the program where a record holds objects of its classes: these are pickled. Raises what that raises.
    """
    parts = list(_parts(record))
    contents = [content for content, is_number in parts if not is_number] or [content for content, _ in parts]
    found = blake2b(digest_size=DIGEST_BYTES)
    for content in contents:
        found.update(len(content).to_bytes(8, "little"))
        found.update(content)
    return found.digest()


def _parts(item: Any) -> Iterator[tuple[bytes, bool]]:
    """Content, and whether it is a number."""
    import numpy
    import torch

    if isinstance(item, (*NUMBERS, numpy.generic)):
        yield repr(item).encode(), True
    elif isinstance(item, str):
        yield item.encode(errors="surrogatepass"), False
    elif isinstance(item, (bytes, bytearray)):
        yield bytes(item), False
    elif isinstance(item, torch.Tensor):
        yield _tensor_content(item), item.numel() == 1
    elif isinstance(item, numpy.ndarray) and not item.dtype.hasobject:
        yield _array_content(item), item.size == 1
    elif isinstance(item, Mapping):
        for value in item.values():
            yield from _parts(value)
    elif isinstance(item, (list, tuple)):
        # Tokens in a list are one content.
        if len(item) > 1 and all(isinstance(each, NUMBERS) for each in item):
            yield repr(item).encode(), False
        else:
            for each in item:
                yield from _parts(each)
    else:
        yield _pickled(item), False


def _tensor_content(tensor: Any) -> bytes:
    import torch

    plain = tensor.detach().to_dense().as_subclass(torch.Tensor).cpu()
    shape = repr((str(plain.dtype), tuple(plain.shape))).encode()
    return shape + bytes(plain.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())


def _array_content(array: Any) -> bytes:
    return repr((array.dtype.str, array.shape)).encode() + bytes(array.tobytes())


def _pickled(thing: Any) -> bytes:
    file = io.BytesIO()
    _ByContent(file).dump(thing)
    return file.getvalue()


class _ByContent(pickle.Pickler):
    """A tensor is pickled with the address of its memory, which differs between processes."""

    def reducer_override(self, thing: Any) -> Any:
        import torch

        return (bytes, (_tensor_content(thing),)) if isinstance(thing, torch.Tensor) else NotImplemented
