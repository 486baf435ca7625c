"""What saving checkpoints takes of a loop's time, and what is usual against that: no setting of a loader is."""

from __future__ import annotations

import re

from underfed_server.facts.loading import Place
from underfed_server.model import Stage

SAVES = re.compile(
    r"^(\w+\.)*(_?save_checkpoint|save_(pretrained|state|model|file)|serialize_file|torch\.save) "
    r"|^(\w+\.)*\w*save\w* (torch/(serialization\.py|distributed/checkpoint/)|safetensors/)"
)
"""A place, written as function, space, file: of torch, safetensors, and the methods that Transformers, Accelerate,
Lightning and programs call so."""

HOW = "https://docs.pytorch.org/tutorials/recipes/distributed_async_checkpoint_recipe.html"

ADVISED = (
    "The usual remedy: save less often, or while training goes on, with torch.distributed.checkpoint.async_save or in "
    f"a thread that writes a copy of the weights, which takes memory ({HOW})."
)


def saves(_stage: Stage, places: tuple[Place, ...]) -> bool:
    return any(SAVES.search(f"{function} {file}") for function, file, _line in places)
