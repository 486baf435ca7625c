"""Writes docs/causes.md: every cause and every change, as their files declare them.

Run it as ``python -m underfed_server.reference > docs/causes.md``.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Sequence

from underfed_server.advice.catalogue import all_changes
from underfed_server.advice.known_costs import KNOWN_COSTS
from underfed_server.diagnosis.causes import all_causes

HEAD = """\
# Causes and changes

What a diagnosis may name as the reason for a wait, and what it may advise. The names are those of the API, of
`underfed show --json` and of [search expressions](search.md); the labels are what the page and the terminal show.

This file is written by `python -m underfed_server.reference > docs/causes.md` from the files of
`app/underfed_server/diagnosis/causes/` and `app/underfed_server/advice/catalogue/`.
"""


ORDER = """\
Advice comes in this order:

1. what cures the leading cause, where its gain cannot be compared with that of other changes: none of its cures has a
   figure, or theirs is of whole epochs (`persistent_workers`) and that of the others of the loop between their starts,
   or one asks once for what as many workers as there are cores wait for side by side (`vectorize_getitem`);
2. the others by their predicted gain; what is only to be tried by the middle of its interval;
3. what has neither, by the cost of the causes that it cures.

Then less work comes before more workers or cores for it, where these cannot help as much. What `cheaper_transform` and
`vectorize_collate` give at most is measured: the share of loading that their line, or joining, takes. Such a line is
moved before `num_workers` (more of them) and `cpu_allocation` where a cheaper way is known for it, and its ceiling is
1.25 times what these are predicted to gain, or more; that they gain nothing counts for the same as no prediction. Where
all cores are in use already, any ceiling above what more workers gain at least is enough, and no cheaper way needs to
be known.
"""


WAYS = """
## Cheaper ways of loading

What `cheaper_transform` advises for the functions that [loading was seen in](hotspots.md), each from a tenth of it
on, with what would be gained if that work took no time. Where none was seen, the costliest call is named by itself.
"""


def reference() -> str:
    causes, changes = dict(sorted(all_causes().items())), all_changes()
    cures = {name: [cause for cause in causes if name in causes[cause].cured_by] for name in changes}
    return "\n".join(
        [
            HEAD,
            "## Causes\n",
            *_table(
                ("cause", "label", "what it means", "changes that cure it"),
                ((_code([name]), one.label, _about(one.find), _code(one.cured_by)) for name, one in causes.items()),
            ),
            "\n## Changes\n",
            ORDER,
            *_table(
                ("change", "label", "what it does", "causes that it cures"),
                ((_code([name]), one.label, _about(one.consider), _code(cures[name])) for name, one in changes.items()),
            ),
            WAYS,
            *_table(
                ("way", "what to do", "why", "said at"),
                ((cost.name, cost.title, cost.why, cost.source) for cost in KNOWN_COSTS),
            ),
            "",
        ]
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def _about(function: Callable[..., object]) -> str:
    """The first paragraph of the docstring of the file that ``function`` is in."""
    documented = inspect.getdoc(inspect.getmodule(function)) or ""
    return " ".join(documented.partition("\n\n")[0].split()).replace("``", "`")


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    sys.stdout.write(reference())
