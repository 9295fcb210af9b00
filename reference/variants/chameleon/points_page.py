"""The Markdown page of all points."""

from __future__ import annotations

from collections.abc import Iterable

from reference.variants.chameleon.catalog import CONFLICTS, POINTS
from reference.variants.chameleon.open_points import CONTRADICTIONS, FIXED_POINTS, OPEN

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
    return _HEAD + "\n".join([*_points(), "", *_conflicts(), "", *_list_fixed_points()]) + "\n"


def _points() -> Iterable[str]:
    yield "## What varies"
    yield ""
    yield "| Point | Open by | Varies | Values, the reference's first | Profile |"
    yield "| --- | --- | --- | --- | --- |"
    for point in POINTS:
        bound_choices = [choice for choice in point.choices if choice.binds]
        maybe_bound_choices = [choice for choice in point.choices if choice.may_bind]
        binding_text = (
            "; ".join([*(["bound"] if bound_choices else []), *(["at times"] if maybe_bound_choices else [])])
            or "nothing"
        )
        values = "; ".join(choice.name for choice in point.choices)
        yield f"| `{point.id}` | {', '.join(point.open)} | {point.varies} | {values} | {binding_text} |"


def _conflicts() -> Iterable[str]:
    yield "## Values that cannot be combined"
    yield ""
    yield "| Where | is one of | and | is one of | the second becomes | because |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for conflict in CONFLICTS:
        (first, first_names), (second, second_names) = conflict.first, conflict.second
        yield (
            f"| `{first}` | {'; '.join(first_names)} | `{second}` | {'; '.join(second_names)} | {conflict.instead} |"
            f" {conflict.reason} |"
        )


def _list_fixed_points() -> Iterable[str]:
    yield "## Open points that do not vary"
    yield ""
    yield "| Open by | What | Why not |"
    yield "| --- | --- | --- |"
    texts = {**OPEN, **CONTRADICTIONS}
    for number, reason in FIXED_POINTS.items():
        yield f"| {number} | {texts[number]} | {reason} |"
