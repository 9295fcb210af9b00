"""What a payer did in a scene, by the ends of its runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from conformance.surfaces.payer.played_rail import PlayedRail, Presentation
from conformance.surfaces.payer.scenes import Ending, Outcome
from conformance.webhook_receiver.raw_receiver import SILENCE, Arrival, Reply


def make_outcome(*endings: Ending) -> Outcome:
    """Return an outcome without calls."""
    return Outcome(cast("PlayedRail", None), list(endings))


def make_ending(code: int | None, *, is_killed: bool = False, seconds: float = 1.0) -> Ending:
    """Return an end without output."""
    return Ending(code, is_killed, seconds, "", "")


def test_a_refusal_is_an_end_by_itself_with_another_code_than_0() -> None:
    """A run that the suite had to end refused nothing."""
    assert make_outcome(make_ending(1)).is_refused
    assert not make_outcome(make_ending(0)).is_refused
    assert not make_outcome(make_ending(None)).is_refused


def test_the_last_run_decides_whether_the_call_was_served() -> None:
    """A first run may have been killed."""
    assert make_outcome(make_ending(None, is_killed=True), make_ending(0)).is_served
    assert not make_outcome(make_ending(0), make_ending(5)).is_served


def test_a_run_that_was_killed_on_purpose_is_not_slow() -> None:
    """Only the others show how fast the machine is."""
    assert make_outcome(make_ending(None, is_killed=True, seconds=40.0), make_ending(0)).slowest == 1.0
    assert make_outcome(make_ending(None, seconds=50.0)).slowest == 50.0


@dataclass
class CalledRail:
    """A rail at which proofs were presented."""

    presentations: list[Presentation]

    def reply_to(self, arrival: Arrival) -> Reply | None:
        """Return the answer to a call."""
        return arrival.reply


def present(tx_id: str, reply: Reply | None) -> Presentation:
    """Return the presentation of a payment, with its answer."""
    arrival = Arrival(1, 0.0, 0.0, "POST", "/", "127.0.0.1:1", (), b"", reply=reply)
    proof: dict[str, Any] = {"tx_id": tx_id}
    return Presentation(arrival, tx_id, proof, tx_id=tx_id)


def test_a_payment_is_answered_by_a_single_200() -> None:
    """Refusals before and after it do not matter. Silence does not count."""
    presentations = [
        present("served", Reply(503)),
        present("served", Reply(200)),
        present("served", Reply(409)),
        present("refused", Reply(402)),
        present("silent", SILENCE),
        present("open", None),
    ]
    outcome = Outcome(cast("PlayedRail", CalledRail(presentations)), [])
    assert outcome.open_payments == ['"refused"', '"silent"', '"open"']
