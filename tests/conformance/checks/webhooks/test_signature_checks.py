"""Checks of a delivery's signature: a fault breaks its rows, and is named if it can be recognised."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from conformance.outcome import Verdict
from conformance.target import clock_file
from tests.conformance.checks.trial import find_broken_rows
from tests.conformance.checks.webhooks.changed_events import write_with_spaces
from tests.conformance.checks.webhooks.scripted_sender import (
    Attempt,
    Flaws,
    Shop,
    compact,
    header,
    run_check,
    sign_attempt,
)

BEARS, VERIFIES, TIMELY = "a_delivery_bears_a_signature", "a_signature_verifies", "a_signature_is_of_its_time"
APART, AGAIN = "destinations_have_secrets_of_their_own", "a_failed_delivery_is_made_again"
pytestmark = pytest.mark.usefixtures("quick_service")


def over(message: Callable[[Attempt], bytes]) -> Callable[[Attempt], str]:
    """Return what signs another message."""
    return lambda attempt: header(attempt.now, attempt.place.secret, message(attempt))


def one_secret(attempt: Attempt) -> str:
    """Sign with the secret of the first destination, wherever it goes."""
    return header(attempt.now, attempt.places[0].secret, f"{attempt.now}.".encode() + attempt.body)


HEADERS: dict[str, tuple[str, Flaws, set[str], str]] = {
    "no header": (BEARS, Flaws(header=lambda _: None), {"WH-SIG-01"}, ""),
    "another name": (BEARS, Flaws(header_name="X-Signature"), {"WH-SIG-01"}, ""),
    "spaces": (BEARS, Flaws(header=lambda one: sign_attempt(one).replace(",", ", ")), {"WH-SIG-02"}, ""),
    "v1 first": (BEARS, Flaws(header=lambda one: ",".join(reversed(sign_attempt(one).split(",")))), {"WH-SIG-02"}, ""),
    "milliseconds with a point": (
        BEARS,
        Flaws(header=lambda one: sign_attempt(one).replace(",", ".5,")),
        {"WH-SIG-02"},
        "",
    ),
    "milliseconds at the head": (
        BEARS,
        Flaws(header=lambda one: sign_attempt(one).replace(",", "000,")),
        {"WH-SIG-02"},
        "",
    ),
    "no t": (BEARS, Flaws(header=lambda one: sign_attempt(one).split(",")[1]), {"WH-SIG-02"}, ""),
    "half of it": (BEARS, Flaws(header=lambda one: sign_attempt(one)[:-32]), {"WH-SIG-03"}, ""),
    "another body": (
        VERIFIES,
        Flaws(header=over(lambda one: f"{one.now}.".encode() + write_with_spaces(one.event))),
        {"WH-SIG-04", "WH-SIG-08"},
        "serialised again, with spaces, ASCII only",
    ),
    "the data alone": (
        VERIFIES,
        Flaws(header=over(lambda one: f"{one.now}.".encode() + compact(one.event["data"]))),
        {"WH-SIG-04", "WH-SIG-08"},
        "its member data serialised again",
    ),
    "the time alone": (
        VERIFIES,
        Flaws(header=over(lambda one: str(one.now).encode())),
        {"WH-SIG-04", "WH-SIG-08"},
        "the time alone",
    ),
    "the body without its time": (VERIFIES, Flaws(header=over(lambda one: one.body)), {"WH-SIG-04"}, "'{body}'"),
    "no point": (
        VERIFIES,
        Flaws(header=over(lambda one: str(one.now).encode() + one.body)),
        {"WH-SIG-04"},
        "'{t}{body}'",
    ),
    "the secret without its prefix": (
        VERIFIES,
        Flaws(
            header=lambda one: header(
                one.now, one.place.secret.removeprefix("weldw_"), f"{one.now}.".encode() + one.body
            )
        ),
        {"WH-SIG-04"},
        "without its prefix",
    ),
    "another secret": (
        VERIFIES,
        Flaws(header=lambda one: header(one.now, "x", f"{one.now}.".encode() + one.body)),
        {"WH-SIG-04"},
        "",
    ),
    "another key": (
        VERIFIES,
        Flaws(header=lambda one: header(one.now, "y", f"{one.now}.".encode() + one.body)),
        {"WH-SIG-04"},
        (
            "v1 fits no way that the suite knows; [webhook] signed_string = '{t}.{body}', "
            "[webhook] key = 'text' and [webhook.destinations."
        ),
    ),
    "a plain hash": (
        VERIFIES,
        Flaws(
            header=lambda one: (
                f"t={one.now},v1="
                + hashlib.sha256(one.place.secret.encode() + f"{one.now}.".encode() + one.body).hexdigest()
            )
        ),
        {"WH-SIG-04"},
        "",
    ),
    "one secret for all": (APART, Flaws(header=one_secret), {"WH-SIG-05"}, ""),
    "an old time": (
        TIMELY,
        Flaws(header=lambda one: header(one.now - 301, one.place.secret, f"{one.now - 301}.".encode() + one.body)),
        {"WH-SIG-06"},
        "",
    ),
    "milliseconds": (
        TIMELY,
        Flaws(header=lambda one: header(one.now * 1000, one.place.secret, f"{one.now * 1000}.".encode() + one.body)),
        {"WH-SIG-06"},
        "",
    ),
}


@pytest.mark.parametrize("flaw", HEADERS)
async def test_a_flaw_of_the_signature_breaks_its_row_and_is_named(flaw: str, tmp_path: Path) -> None:
    """Each wrong signature breaks its rows, and the hint says how it was made if that can be recognised."""
    name, flaws, rows, told = HEADERS[flaw]
    verdicts, log = await run_check(name, tmp_path, flaws)
    assert find_broken_rows(verdicts) == rows
    assert told in " ".join(str(event["hint"]) for event in log.of("judgement"))


def _late(clock: Path, sign: Callable[[Attempt], str]) -> Callable[[Attempt], str]:
    """Return what signs, and has the test clock moved by two hours before a second attempt arrives."""

    def late(attempt: Attempt) -> str:
        value = sign(attempt)
        if attempt.number > 1:
            clock_file.advance(clock, 7200)
        return value

    return late


@pytest.mark.parametrize("delay", [0.0, 11.0])
async def test_a_time_of_before_the_clock_was_moved_is_no_breach(
    delay: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delivery is under way when the test clock is moved: it has the earlier time, and no row is broken.

    A slow machine may delay it by any number of seconds.
    """

    async def arrive_late(self: Shop, attempt: Attempt, headers: Mapping[str, str]) -> bool:
        await asyncio.sleep(delay if attempt.number > 1 else 0.0)
        return await request(self, attempt, headers)

    request = Shop._request
    monkeypatch.setattr(Shop, "_request", arrive_late)
    verdicts, _ = await run_check(AGAIN, tmp_path, Flaws(header=_late(tmp_path / "clock", sign_attempt)))
    assert find_broken_rows(verdicts) == set()


@pytest.mark.parametrize("offset", [0, 331])
async def test_a_time_that_no_clock_told_is_a_breach_right_after_a_move(offset: int, tmp_path: Path) -> None:
    """A stack makes its clock file as it starts, and an earlier run may have moved it on just now."""
    (tmp_path / "clock").write_text(f"{offset}\n")
    # However long the suite takes until the first delivery arrives.
    later = time.time() + 3600
    os.utime(tmp_path / "clock", (later, later))
    t = int(time.time()) - 3600
    flaws = Flaws(header=lambda one: header(t, one.place.secret, f"{t}.".encode() + one.body))
    verdicts, _ = await run_check(TIMELY, tmp_path, flaws)
    assert find_broken_rows(verdicts) == {"WH-SIG-06"}


async def test_a_time_that_was_kept_is_a_breach_though_the_clock_was_moved(tmp_path: Path) -> None:
    """A second attempt with the time of the first is too old, whenever the clock was moved."""
    times: dict[str, int] = {}

    def sign(attempt: Attempt) -> str:
        t = times.setdefault(f"{attempt.event['id']} {attempt.place.name}", attempt.now)
        return header(t, attempt.place.secret, f"{t}.".encode() + attempt.body)

    verdicts, _ = await run_check(AGAIN, tmp_path, Flaws(header=_late(tmp_path / "clock", sign)))
    assert find_broken_rows(verdicts) == {"WH-SIG-06", "WH-SIG-07"}


async def test_the_first_destinations_own_secret_is_told_from_the_others(tmp_path: Path) -> None:
    """A delivery that is signed with another destination's secret is reported as such."""
    verdicts, log = await run_check(VERIFIES, tmp_path, Flaws(header=one_secret))
    assert "WH-SIG-04" in find_broken_rows(verdicts)
    assert any("the secret of the destination first" in str(event["hint"]) for event in log.of("judgement"))


async def test_a_usual_signed_string_is_found_where_none_is_declared(tmp_path: Path) -> None:
    """Without `signed_string` a usual one is found out, and an unusual one leaves the rows undecided, not failed."""

    def unbound(text: str) -> str:
        text = text.replace('signed_string = "{t}.{body}"\n', "")
        return text.replace('defaults = "reference"', 'defaults = "none"\nservice_word = "Weldproof"')

    usual = Flaws(header=over(lambda one: f"{one.now}:".encode() + one.body))
    verdicts, _ = await run_check(VERIFIES, tmp_path, usual, changed=unbound)
    assert set(verdicts.values()) == {Verdict.PASS}
    own = Flaws(header=over(lambda one: b"mine" + one.body))
    verdicts, _ = await run_check(VERIFIES, tmp_path, own, changed=unbound)
    assert set(verdicts.values()) == {Verdict.INCONCLUSIVE}


async def test_a_secret_that_is_decoded_is_open_until_it_is_bound(tmp_path: Path) -> None:
    """A MAC with the decoded secret as its key fails nothing, and passes if the profile binds that."""

    def elsewhere(text: str) -> str:
        return text.replace('defaults = "reference"', 'defaults = "none"\nservice_word = "Weldproof"')

    def bind_key(text: str) -> str:
        return elsewhere(text).replace("[webhook]\n", '[webhook]\nkey = "base64"\n')

    def unbound_string(text: str) -> str:
        return elsewhere(text).replace('signed_string = "{t}.{body}"\n', "")

    def sign_with_decoded_key(one: Attempt) -> str:
        text = one.place.secret.partition("_")[2]
        key = base64.b64decode(text + "=" * (-len(text) % 4))
        message = f"{one.now}.".encode() + one.body
        return f"t={one.now},v1={hmac.new(key, message, hashlib.sha256).hexdigest()}"

    for changed in (elsewhere, unbound_string):
        verdicts, _ = await run_check(VERIFIES, tmp_path, Flaws(header=sign_with_decoded_key), changed=changed)
        assert set(verdicts.values()) == {Verdict.INCONCLUSIVE}
    verdicts, _ = await run_check(VERIFIES, tmp_path, Flaws(header=sign_with_decoded_key), changed=bind_key)
    assert set(verdicts.values()) == {Verdict.PASS}
    verdicts, _ = await run_check(VERIFIES, tmp_path, Flaws(), changed=bind_key)
    assert verdicts["WH-SIG-04"] is Verdict.FAIL
