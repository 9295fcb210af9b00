"""An example differs from recording to recording in nothing that does not matter."""

from __future__ import annotations

import pytest

from tools.examples.stable import FIRST_SECOND, Stable

START_TIME = 1_795_421_471


def stable() -> Stable:
    """Return the form of one row's example."""
    return Stable("RAIL-PAY-08", START_TIME)


@pytest.mark.parametrize(
    ("text", "shown_text"),
    [
        ("http://localhost:39799/x", "http://localhost:$PORT/x"),
        ("did:web:localhost%3A39799", "did:web:localhost%3A$PORT"),
        ('"created":1795421472', f'"created":{FIRST_SECOND + 1}'),
        ('"ms":1795421472635}', f'"ms":{FIRST_SECOND + 1}635}}'),
        ("2026-11-23T08:11:12Z", "2026-01-01T12:00:01Z"),
        ("2026-11-23T09:11:11.5+00:00", "2026-01-01T13:00:00.5+00:00"),
        ("Date: Mon, 23 Nov 2026 08:11:11 GMT", "Date: Thu, 01 Jan 2026 12:00:00 GMT"),
        ("created=1618884473", "created=1618884473"),
        ("Tue, 20 Apr 2021 02:07:55 GMT", "Tue, 20 Apr 2021 02:07:55 GMT"),
        ('"amount":"50000"', '"amount":"50000"'),
    ],
)
def test_ports_and_moments_have_one_form(text: str, shown_text: str) -> None:
    """Moments of the run keep their distance from its beginning; others, as in a vector, stay."""
    assert stable().text(text) == shown_text


def test_ids_keep_their_length_case_and_identity() -> None:
    """What is alike stays alike, what differs differs, and another recording gives the same."""
    first, second = "a" * 64, "0123456789ABCDEF" * 2
    first_form, second_form = stable(), stable()
    text = first_form.text(f"{first} {second} {first}")
    assert text == second_form.text(f"{'b' * 64} {'9F' * 16} {'b' * 64}")
    left_part, middle, right = text.split()
    assert left_part == right != first
    assert (len(left_part), len(middle), middle) == (64, 32, middle.upper())


def test_a_uuid_stays_a_uuid_of_its_version() -> None:
    """The digits that say version and variant stay, as do the hyphens."""
    uuid_text = stable().text("evt_924e723e-368f-4a2e-a322-4e889810cf53").removeprefix("evt_")
    assert uuid_text.count("-") == 4
    assert (uuid_text[14], uuid_text[19]) == ("4", "a")


def test_long_values_are_cut() -> None:
    """A token of hundreds of characters says no more than its beginning."""
    assert stable().text(f"X: {'Ab_-' * 50}") == f"X: {('Ab_-' * 50)[:32]}…"
