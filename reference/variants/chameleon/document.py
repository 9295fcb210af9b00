"""The page of all points, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from reference.variants.chameleon.catalog import CONFLICTS, POINTS
from reference.variants.chameleon.open_points import CONTRADICTIONS, OPEN, UNVARIED

_HEAD = """\
# The chameleon

The chameleon is a correct server made from the reference. It takes every point that the interface leaves open from a
seed, and no check may fail on it. `weldproof up --chameleon SEED` starts it with the target profile that fits it.
`weldproof selftest --chameleon` runs the suite against several, and lists which values were observed on the wire. A
failure against it is a bug of the suite, or its value is not a valid reading of the interface.

`python -m reference.variants.chameleon points` writes this page; a test compares it.

The last column says whether the generated target profile binds what the value changes. *bound*: it does, because an
operator would have to. *at times*: it does so on half of the seeds. On the others the suite must discover the value.

"""


def page() -> str:
    """Return the page."""
    return _HEAD + "\n".join([*_points(), "", *_conflicts(), "", *_unvaried()]) + "\n"


def _points() -> Iterable[str]:
    yield "## What varies"
    yield ""
    yield "| Point | Open by | Varies | Values, the reference's first | Profile |"
    yield "| --- | --- | --- | --- | --- |"
    for point in POINTS:
        bound = [choice for choice in point.choices if choice.binds]
        perhaps = [choice for choice in point.choices if choice.may_bind]
        binding = "; ".join([*(["bound"] if bound else []), *(["at times"] if perhaps else [])]) or "nothing"
        values = "; ".join(choice.name for choice in point.choices)
        yield f"| `{point.id}` | {', '.join(point.open)} | {point.varies} | {values} | {binding} |"


def _conflicts() -> Iterable[str]:
    yield "## Values that cannot be combined"
    yield ""
    yield "| Where | is one of | and | is one of | the second becomes | because |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for one in CONFLICTS:
        (first, names), (second, others) = one.first, one.second
        yield (f"| `{first}` | {'; '.join(names)} | `{second}` | {'; '.join(others)} | {one.instead} | {one.reason} |")


def _unvaried() -> Iterable[str]:
    yield "## Open points that do not vary"
    yield ""
    yield "| Open by | What | Why not |"
    yield "| --- | --- | --- |"
    texts = {**OPEN, **CONTRADICTIONS}
    for number, reason in UNVARIED.items():
        yield f"| {number} | {texts[number]} | {reason} |"
