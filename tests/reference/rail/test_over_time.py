"""What time does: changed terms, forgotten answers, a second look at served payments (P-CH-13, P-ST-04, P-ST-07)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from reference.store.database_url import open_database, sqlite_dsn
from reference.store.rail_tables import redemptions
from tests.reference.rail.rail_answers import code_of
from tests.reference.rail.rail_stack import COMPLIANCE_BODY, Payer, Rail, SimulatedChain, payload_of, proof_of


def test_a_challenge_keeps_its_terms_over_a_change(
    own_rail: Callable[..., Rail], payer: Payer, chain: SimulatedChain
) -> None:
    """Price and payee are those of the token, before and after a restart; the receipt says what was paid to whom."""
    rail = own_rail()
    old, old_payee = rail.quote(), rail.pay_to
    rail.stop()
    rail.pay_to = chain.new_payee()
    rail.settings["WP_RAIL_PRICES"] = "compliance-receipt=70000"
    rail.start()
    new = rail.quote()
    assert (new["amount"], new["payTo"]) == ("70000", rail.pay_to)
    cheap = proof_of(payer.pay(new, amount=50_000), new)
    assert code_of(rail.present(cheap)) == (402, "wrong_amount")
    astray = proof_of(payer.pay(new, receiver=old_payee), new)
    assert code_of(rail.present(astray)) == (402, "wrong_recipient")
    for entry, price, payee in ((old, "50000", old_payee), (new, "70000", rail.pay_to)):
        task = rail.present(proof_of(payer.pay(entry), entry))
        assert task.status_code == 200, task.text
        receipt = payload_of(task.json()["payable_receipt"])
        assert (receipt["amount_microunits"], receipt["pay_to"]) == (price, payee)


def test_a_stored_answer_is_kept_for_its_time(own_rail: Callable[..., Rail], payer: Payer) -> None:
    """24 hours later the payment is still spent, and its answer is gone: 409, not a second execution."""
    rail = own_rail()
    entry = rail.quote()
    proof = proof_of(payer.pay(entry), entry)
    reply = rail.present(proof)
    rail.set_clock(86_000)
    assert rail.present(proof).content == reply.content
    rail.set_clock(86_500)
    answer = rail.present(proof)
    assert code_of(answer) == (409, "payment_already_spent")


@pytest.fixture
def own_chain() -> Iterator[SimulatedChain]:
    """A chain whose past one test may change."""
    simulation = SimulatedChain()
    yield simulation
    simulation.stop()


def test_a_payment_that_vanished_is_attested_as_reversed(own_chain: SimulatedChain, tmp_path: Path) -> None:
    """600 s after the service the rail looks once more: what is gone is REVERSED, what is there stays SETTLED."""
    payee = Payer(own_chain)
    payer = Payer(own_chain)
    rail = Rail(own_chain, tmp_path / "rail", payee.address).start()
    try:
        other_request = {**COMPLIANCE_BODY, "recipient_address": "screen-flag"}
        second_entry, lost = rail.quote(), rail.quote(body=other_request)
        assert rail.present(proof_of(payer.pay(second_entry), second_entry)).status_code == 200
        before = own_chain.control("snapshot")["id"]
        proof = proof_of(payer.pay(lost), lost)
        answer = rail.present(proof, body=other_request)
        own_chain.control("restore", id=before)
        rail.set_clock(700)
        assert settlements_of(rail) == ["REVERSED", "SETTLED"]
        assert rail.present(proof, body=other_request).content == answer.content
    finally:
        rail.close()


def settlements_of(rail: Rail) -> list[str]:
    """Return the settlement result of each redemption, sorted, once none is due any more."""

    async def read() -> list[tuple[str, int | None]]:
        database = open_database(sqlite_dsn(rail.folder / "data" / "rail.sqlite3"))
        try:
            match = await database.rows(select(redemptions.c.attestation, redemptions.c.recheck_at))
            return [(attestation, due) for attestation, due in match]
        finally:
            await database.close()

    deadline = time.monotonic() + 60
    match = asyncio.run(read())
    while any(due is not None for _, due in match) and time.monotonic() < deadline:
        time.sleep(0.05)
        match = asyncio.run(read())
    assert all(due is None for _, due in match)
    return sorted(payload_of(attestation)["settlement_result"] for attestation, _ in match)


def test_a_rotated_key_signs_at_once_and_the_old_one_stays_published(
    own_rail: Callable[..., Rail], payer: Payer
) -> None:
    """P-KY-08: the active key comes first; receipts of the retired one still verify by the same document."""
    rail = own_rail()
    before = rail.http.get("/.well-known/jwks.json").json()["keys"]
    rotated = rail.command("rotate-key").strip()
    keys = rail.http.get("/.well-known/jwks.json").json()["keys"]
    assert [key["kid"] for key in keys] == [rotated, before[0]["kid"]]
    did = rail.http.get("/.well-known/did.json").json()
    assert did["assertionMethod"] == [f"{did['id']}#{rotated}"]
    entry = rail.quote()
    receipt = rail.present(proof_of(payer.pay(entry), entry)).json()["payable_receipt"]
    assert header_of(receipt)["kid"] == rotated


def header_of(jws: str) -> dict[str, str]:
    """Return the header of a compact JWS."""
    return payload_of(f".{jws.split('.', maxsplit=1)[0]}.")
