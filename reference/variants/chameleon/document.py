"""The page of all points, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from reference.variants.chameleon.catalog import CONFLICTS, POINTS
from reference.variants.chameleon.open_points import CONTRADICTIONS, OPEN, UNVARIED

_HEAD = """\
# The chameleon

A correct server that takes every point the interface leaves open from a seed, and against which no check may fail.
`weldproof up --chameleon SEED` brings it up with the target profile that fits it; `weldproof selftest --chameleon`
runs the suite against several, and tells which values were seen on the wire. A failure against it is a bug of the
suite, or its value is no honest reading of the interface.

This page is made by `python -m reference.variants.chameleon points`; a test holds it equal.

Where the last column says *told*, the ready-made target profile binds what the value changes, since an operator would
have to; *at times*, it does so on half of the seeds, and on the others the suite has to find it by itself.

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
        told = "; ".join([*(["told"] if bound else []), *(["at times"] if perhaps else [])]) or "nothing"
        values = "; ".join(choice.name for choice in point.choices)
        yield f"| `{point.id}` | {', '.join(point.open)} | {point.varies} | {values} | {told} |"


def _conflicts() -> Iterable[str]:
    yield "## What does not go together"
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
