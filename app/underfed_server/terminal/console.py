"""The console that answers are printed on: text from agents is shown, and never controls the terminal."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import BaseModel
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from underfed_server.errors import UnderfedError

SHOWN = "\ufffd"
PIPED_COLUMNS = 4_000
"""Where no terminal sets a width nothing is cut or wrapped: what is in one row or paragraph is in one line."""
_CONTROLS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories of characters that act instead of being seen: control characters (ESC begins a command to the
terminal), format characters (some reverse the direction of text), surrogates, line separators."""


class PlainConsole(Console):
    """Prints U+FFFD for each character that would act; ``[red]`` and ``:smile:`` stay as they are.

    Into a file or a pipe lines are as long as they need to be, unless ``COLUMNS`` says how long.
    """

    def __init__(self) -> None:
        super().__init__(highlight=False, markup=False, emoji=False)
        self._is_piped = not self.is_terminal and "COLUMNS" not in os.environ
        if self._is_piped:
            self.width = PIPED_COLUMNS

    def print(self, *objects: Any, **how: Any) -> None:
        if not self._is_piped:
            super().print(*objects, **how)
            return
        with self.capture() as capture:
            super().print(*objects, **how)
        # Tables and margins are filled up to the whole width.
        self.file.write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=plain(segment.text))


def answered(answer: Callable[[], None]) -> int:
    """The exit code: 1 where the service or the store gave an error, which is printed in a sentence; 130 at Ctrl-C."""
    try:
        answer()
    except UnderfedError as error:
        print(f"underfed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def json_of(model: BaseModel) -> str:
    """The API's object as it is, in ASCII: control characters are written as ``\\u001b``."""
    return json.dumps(model.model_dump(mode="json", by_alias=True), indent=2)


Answer = tuple[BaseModel | None, Callable[[], RenderableType]]
"""The API's object, ``None`` where it answers nothing, and its text for a person, which may need more requests."""


def print_answer(find: Callable[[], Answer], *, as_json: bool, soft_wrap: bool = False) -> int:
    """The exit code, as of :func:`answered`."""

    def answer() -> None:
        model, render = find()
        if as_json:
            print("{}" if model is None else json_of(model))
        else:
            PlainConsole().print(render(), soft_wrap=soft_wrap)

    return answered(answer)


def plain(text: str) -> str:
    """``text`` with U+FFFD for every character of these categories but the end of a line."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(
        SHOWN if character != "\n" and unicodedata.category(character) in _CONTROLS else character for character in text
    )
