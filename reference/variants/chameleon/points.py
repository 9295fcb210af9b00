"""What a point is: one thing that the interface leaves open, and the values that a chameleon takes there."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reference.variants.chameleon.shape import Shape

_LANES = 3
_SIGNING = ("rail", "gateway", "agent")


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a point.

    Attributes:
        name: What it is called in reports.
        sets: Members of the shape.
        settings: Settings of the service.
        binds: What an operator must tell in his target profile, by dotted key, since nothing on the wire shows it; a
            function makes the value of the whole shape.
        may_bind: What he may tell; on half of the seeds he does, on the others the suite has to find it.
        undecidable_rows: Rows that this value makes undecidable, with the reason.
    """

    name: str
    sets: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    binds: Mapping[str, Any] = field(default_factory=dict)
    may_bind: Mapping[str, Any] = field(default_factory=dict)
    undecidable_rows: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Point:
    """One open point.

    Attributes:
        id: Its name, `surface.what`; `http` is on every surface, `keys` on those that sign, `hub` is the control plane,
            and `addon` the addons and whatever else joins it.
        open: Which open points of the interface (1 to 33) and which contradictions (C-01 to C-18) it is about; a
            standard's name where the standard leaves it open.
        varies: What is different on the wire, in words.
        choices: Its values, the reference's own first.
        lane: The lane on which alone it shows, where there is one; every third seed pays on it.
    """

    id: str
    open: tuple[str, ...]
    varies: str
    choices: tuple[Choice, ...]
    lane: str | None = None

    @property
    def surfaces(self) -> tuple[str, ...]:
        """The surfaces on which it shows."""
        name = self.id.partition(".")[0]
        surfaces_by_prefix = {"http": (*_SIGNING, "control_plane"), "keys": _SIGNING, "hub": ("control_plane",)}
        return surfaces_by_prefix.get(name, (name,))


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two values that no honest server has together, and what the second one gives way to."""

    first: tuple[str, tuple[str, ...]]
    second: tuple[str, tuple[str, ...]]
    instead: str
    reason: str


@dataclass(frozen=True, slots=True)
class Variant:
    """What a seed draws.

    Attributes:
        shape: The service's look.
        choices: The choice of each point, by its id.
        bindings: What the target profile says, by dotted key.
        undecidable_rows: Rows that the look makes undecidable, with the reason.
    """

    shape: Shape
    choices: Mapping[str, str]
    bindings: Mapping[str, Any]
    undecidable_rows: Mapping[str, str]


def draw(points: Sequence[Point], conflicts: Sequence[Conflict], seed: int) -> Variant:
    """Return the look of a seed.

    Every value of a point comes once in as many seeds as it has values, from a multiple of that number on, and each
    point turns by a permutation of its own: so a few seeds in a row show every value, and in ever other company.
    """
    choice_by_id = {point.id: _pick_choice(point, seed) for point in points}
    by_id = {point.id: point for point in points}
    for conflict in conflicts:
        _settle(conflict, choice_by_id, by_id)
    shape = Shape(seed)
    bindings: dict[str, Any] = {"target.defaults": "none"}
    undecidable_rows: dict[str, str] = {}
    for point in points:
        choice = choice_by_id[point.id]
        for name, value in choice.sets.items():
            setattr(shape, name, value)
        shape.settings |= choice.settings
        bindings |= choice.binds
        if random.Random(f"{seed}:{point.id}:told").getrandbits(1):  # noqa: S311 - repeatable on purpose
            bindings |= choice.may_bind
        undecidable_rows |= choice.undecidable_rows
    bindings = {key: value(shape) if callable(value) else value for key, value in bindings.items()}
    return Variant(shape, {name: choice.name for name, choice in choice_by_id.items()}, bindings, undecidable_rows)


def _pick_choice(point: Point, seed: int) -> Choice:
    number = len(point.choices)
    if point.lane is not None:
        return point.choices[seed // _LANES % number]
    order = list(range(number))
    random.Random(f"{point.id}:{seed // number}").shuffle(order)  # noqa: S311 - repeatable on purpose
    return point.choices[order[seed % number]]


def _settle(conflict: Conflict, choice_by_id: dict[str, Choice], by_id: Mapping[str, Point]) -> None:
    (first, first_names), (second, second_names) = conflict.first, conflict.second
    if (
        first in choice_by_id
        and second in choice_by_id
        and choice_by_id[first].name in first_names
        and choice_by_id[second].name in second_names
    ):
        choice_by_id[second] = next(one for one in by_id[second].choices if one.name == conflict.instead)
