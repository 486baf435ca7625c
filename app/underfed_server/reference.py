"""Writes docs/causes.md: every cause and every change, as their files declare them.

Run it as ``python -m underfed_server.reference > docs/causes.md``.
"""

from __future__ import annotations

import inspect
import re
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

1. cures of the leading cause whose gain cannot be compared with that of other changes: because no cure of that cause
   has a predicted gain; because the gain is predicted for whole epochs (`persistent_workers`), while that of the others
   is for the loop within an epoch; or because there are as many workers as cores, all of them waiting, and one request
   for the whole batch replaces a wait for each sample (`vectorize_getitem`);
2. other changes with a predicted gain, the largest first; a change that is only to be tried counts with the middle of
   its interval;
3. changes without a figure, by the cost of the causes that they cure.

Then less work is moved before more workers, more cores or a longer queue for the same work, if these cannot help as
much. The most that
`cheaper_transform` and `vectorize_collate` can gain is measured: it follows from the share of loading that their line,
or joining, takes. They are moved before `num_workers` (more of them) and `cpu_allocation` if a cheaper way is known and
their ceiling is at least 1.25 times the predicted gain of these; a change without a prediction counts as one that gains
nothing. If all cores are in use already, any ceiling above the least that more workers gain is enough, and no cheaper
way needs to be known. They are moved before a larger `prefetch_factor` if a cheaper way is known and their ceiling is
above the upper end of its interval.

What lies outside the loader ("Move the other jobs off these 2 cores", "Save checkpoints less often") comes first if no
change of the loader promises a gain. The exception is less work: `cheaper_transform` or `vectorize_collate` comes
before it if it is the first change and the lower end of its ceiling is above what the act outside gains at most.
"""


WAYS = """
## Cheaper ways of loading

What `cheaper_transform` advises for the functions in which [loading was seen](hotspots.md), if they take at least a
tenth of it, with what would be gained if that work took no time. If none of them was seen, only the costliest call is
named.
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
                ("way", "what to do", "why", "source"),
                ((cost.name, cost.title, cost.why, _linked(cost.source)) for cost in KNOWN_COSTS),
            ),
            "",
        ]
    )


def _linked(text: str) -> str:
    return re.sub(r"https://[^\s,]+", r"<\g<0>>", text)


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
