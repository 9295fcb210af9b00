"""Points, choices and variants: the data of a chameleon, and the draw of a variant from a seed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reference.variants.chameleon.variant_shape import Shape

_LANES = 3
_SIGNING = ("rail", "gateway", "agent")


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a point.

    Attributes:
        name: Its name in reports.
        sets: Members of the shape.
        settings: Settings of the service.
        binds: Bindings that the target profile must contain, by dotted key, because nothing on the wire shows the
            value; a function computes the value from the whole shape.
        may_bind: Bindings that the profile contains on half of the seeds; on the others the suite must find the value.
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
        id: Its name, `surface.subject`; `http` is on every surface, `keys` on those that sign, `hub` is the control
            plane, and `addon` stands for addons and all other services that join it.
        open: Open points of the interface (1 to 33) and contradictions (C-01 to C-18) that it is about, or the name of
            the standard that leaves it open.
        varies: The difference on the wire, in words.
        choices: Its values, the reference's own first.
        lane: The only lane on which it shows, or None; every third seed pays on it.
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
    """Two values that exclude each other, and the value that replaces the second one."""

    first: tuple[str, tuple[str, ...]]
    second: tuple[str, tuple[str, ...]]
    instead: str
    reason: str


@dataclass(frozen=True, slots=True)
class Variant:
    """The variant of a seed.

    Attributes:
        shape: The variant's shape.
        choices: The choice of each point, by its id.
        bindings: Bindings of the target profile, by dotted key.
        undecidable_rows: Rows that the variant makes undecidable, with the reason.
    """

    shape: Shape
    choices: Mapping[str, str]
    bindings: Mapping[str, Any]
    undecidable_rows: Mapping[str, str]


def draw(points: Sequence[Point], conflicts: Sequence[Conflict], seed: int) -> Variant:
    """Return the variant of a seed."""
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
        # The texts that seed these generators must not change: recorded runs name a seed, and it must draw the same
        # variant.
        if random.Random(f"{seed}:{point.id}:told").getrandbits(1):  # noqa: S311 - repeatable on purpose
            bindings |= choice.may_bind
        undecidable_rows |= choice.undecidable_rows
    bindings = {key: value(shape) if callable(value) else value for key, value in bindings.items()}
    return Variant(shape, {name: choice.name for name, choice in choice_by_id.items()}, bindings, undecidable_rows)


def _pick_choice(point: Point, seed: int) -> Choice:
    number = len(point.choices)
    if point.lane is not None:
        # The lane follows from the seed, every third one. Dividing by three first shows each value on its lane.
        return point.choices[seed // _LANES % number]
    # In as many consecutive seeds as a point has values, from a multiple of that number on, each value comes once.
    # Each point has a separate permutation. So a few seeds show every value, and always in other combinations.
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
