"""The table of points: complete, honest with itself, and turned so that few seeds show every value."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.selftest.observations import OBSERVERS
from conformance.target import Profile
from conformance.target.hub import PORTS
from reference.variants.chameleon.catalog import CONFLICTS, POINTS, draw_variant
from reference.variants.chameleon.open_points import CONTRADICTIONS, FIXED_POINTS, OPEN
from reference.variants.chameleon.points import Choice, Point
from reference.variants.chameleon.points_page import page
from reference.variants.chameleon.variant_shape import Shape

_DOCUMENT = Path(__file__).parents[4] / "docs" / "chameleon.md"
_SEEDS = 64
_IN_A_ROW = 8


def test_every_open_point_varies_or_has_a_reason() -> None:
    """Each of the 33 open points and 18 contradictions is varied by some point, or says why it is not."""
    varied_points = {number for point in POINTS for number in point.open}
    all_points = OPEN.keys() | CONTRADICTIONS.keys()
    assert len(OPEN) == 33
    assert len(CONTRADICTIONS) == 18
    assert all_points - varied_points == FIXED_POINTS.keys()
    assert all(reason.strip() for reason in FIXED_POINTS.values())


def test_ids_and_names_are_unique() -> None:
    """A point is named once, and so is each of its values, of which it has at least two."""
    assert len({point.id for point in POINTS}) == len(POINTS)
    for point in POINTS:
        names = [choice.name for choice in point.choices]
        assert len(names) >= 2, point.id
        assert len(set(names)) == len(names), point.id


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.id)
def test_the_first_value_is_the_references_own_and_every_other_changes_something(point: Point) -> None:
    """The first value leaves the shape as it is; each other one makes another."""
    shapes = [_shape_of(choice) for choice in point.choices]
    assert shapes[0] == Shape()
    assert all(shape != shapes[0] for shape in shapes[1:])


def _shape_of(choice: Choice) -> Shape:
    member_names = {one.name for one in dataclasses.fields(Shape)}
    assert choice.sets.keys() <= member_names
    return dataclasses.replace(Shape(), settings=dict(choice.settings), **choice.sets)


def test_every_point_is_observed_on_the_wire() -> None:
    """The suite knows how to see each point, and no other."""
    assert {point.id for point in POINTS} == OBSERVERS.keys()


@pytest.mark.parametrize("first", range(0, 40, 5))
def test_eight_seeds_in_a_row_show_two_values_of_every_point(first: int) -> None:
    """Whatever seed one starts with, eight in a row draw two values of each point, by lane where it has one."""
    looks = {seed: draw_variant(seed).choices for seed in range(first, first + _IN_A_ROW)}
    for point in POINTS:
        lanes = {"algorand": 0, "base": 1, "solana": 2}
        shown_values = {
            choices_of_seed[point.id]
            for seed, choices_of_seed in looks.items()
            if point.lane is None or seed % 3 == lanes[point.lane]
        }
        assert len(shown_values) >= 2, point.id


def test_a_seed_always_draws_the_same_look() -> None:
    """The same seed, the same look; another seed, another."""
    assert draw_variant(7) == draw_variant(7)
    assert draw_variant(7).choices != draw_variant(8).choices


def test_values_that_no_honest_server_has_together_are_never_drawn_together() -> None:
    """Each conflict is settled in every look."""
    for seed in range(_SEEDS):
        choice_of_point = draw_variant(seed).choices
        for conflict in CONFLICTS:
            (first, names), (second, second_names) = conflict.first, conflict.second
            assert not (choice_of_point[first] in names and choice_of_point[second] in second_names), (
                seed,
                conflict.reason,
            )


def test_the_drawn_values_are_in_the_shape() -> None:
    """What a look says it drew is what its shape has, also after conflicts were settled."""
    for seed in range(_SEEDS):
        variant = draw_variant(seed)
        for point in POINTS:
            choice = next(one for one in point.choices if one.name == variant.choices[point.id])
            assert {name: getattr(variant.shape, name) for name in choice.sets} == dict(choice.sets)


@pytest.mark.parametrize("seed", range(12))
def test_what_a_look_binds_is_a_target_profile(seed: int) -> None:
    """The bindings of every look fit the profile, and claim nothing of the reference's own defaults."""
    document: dict[str, Any] = {}
    for key, value in draw_variant(seed).bindings.items():
        table = document
        *tables, name = key.split(".")
        for table_name in tables:
            table = table.setdefault(table_name, {})
        table[name] = _plain(value)
    profile = Profile.model_validate(document)
    assert profile.target.defaults == "none"


def _plain(value: Any) -> Any:
    return {name: _plain(one) for name, one in value.items()} if isinstance(value, Mapping) else value


def test_the_page_of_points_is_up_to_date() -> None:
    """docs/chameleon.md is what `python -m reference.variants.chameleon points` prints."""
    assert _DOCUMENT.read_text("utf-8") == page()


def test_the_installed_word_tells_the_command_of_every_bundled_service() -> None:
    """CP-CONF-08 is decided for each of them, or for none and with a reason."""
    consoles = {f"addons.{name}.console" for name in PORTS}
    words = next(point for point in POINTS if point.id == "http.service-word")
    bound_consoles = {choice.name: consoles & set(choice.binds) for choice in words.choices}
    undecided_words = {choice.name for choice in words.choices if "CP-CONF-08" in choice.undecidable_rows}
    assert {name for name, told in bound_consoles.items() if told} == {
        choice.name for choice in words.choices
    } - undecided_words
    assert all(told == consoles for name, told in bound_consoles.items() if name not in undecided_words)
