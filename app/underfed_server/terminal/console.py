"""The console that answers are printed on: what agents wrote is text there, and never an order to the terminal."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable

from pydantic import BaseModel
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

SHOWN = "\ufffd"
_ORDERS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories of what is not seen but done: control characters (ESC begins an order to the terminal), format
characters (they turn the direction of what follows), halves of pairs, separators of lines."""


class PlainConsole(Console):
    """Prints U+FFFD for each character that would do something; ``[red]`` and ``:smile:`` stay as they are."""

    def __init__(self) -> None:
        super().__init__(highlight=False, markup=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=plain(segment.text))


def json_of(model: BaseModel) -> str:
    """The API's object as it is, in ASCII: what would be an order is written as ``\\u001b``."""
    return json.dumps(model.model_dump(mode="json", by_alias=True), indent=2)


def plain(text: str) -> str:
    """``text`` with U+FFFD for every character but the end of a line that does something to those around it."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(
        SHOWN if character != "\n" and unicodedata.category(character) in _ORDERS else character for character in text
    )
