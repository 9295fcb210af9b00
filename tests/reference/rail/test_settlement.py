"""Settling on Base when the chain, the payer or a stranger gets in the way (P-LN-03, P-LN-07, P-LN-08, P-ST-08)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from eth_account import Account

from reference.protocol.redemption import State
from reference.store.redemption_rows import Redemption
from reference.store.settlements import Fate, Settlement
from tests.reference.rail.base_stack import PRICE, BasePayer, Settler, SimulatedBase, base_settings, call, until
from tests.reference.rail.rail_answers import code_of, refused_otherwise, refused_payment
from tests.reference.rail.rail_stack import Rail, SimulatedChain
from tests.reference.rail.rail_tables import fail_settlements, rows_of, settlements_of

IMPATIENT = {"WP_RAIL_CONFIRM_WAIT": "0.2"}
NOT_YET = (402, "tx_not_confirmed")


@pytest.fixture(scope="module")
def shared_rail(
    chain: SimulatedChain, pay_to: str, base: SimulatedBase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rail]:
    """A rail on Base that does not wait long inside a call."""
    folder = tmp_path_factory.mktemp("settling")
    settings = base_settings(base, Settler(base, folder), Account.create().address)
    new_rail = Rail(chain, folder / "rail", pay_to, settings | IMPATIENT).start()
    yield new_rail
    new_rail.close()


@pytest.fixture
def rail(shared_rail: Rail, calm_base: SimulatedBase) -> Rail:
    """That rail, on a chain that may be troubled."""
    del calm_base
    return shared_rail


def later(rail: Rail, seconds: int) -> None:
    """Move a rail's clock on, for it never goes back."""
    rail.set_clock(float(rail.clock_file.read_text("ascii")) + seconds)


def sent_for(rail: Rail, proof: dict[str, Any]) -> list[Settlement]:
    """Return what a rail sent for a token."""
    return [one for one in settlements_of(rail) if one.token == proof["challenge_token"]]


def claims_of(rail: Rail, proof: dict[str, Any]) -> list[Redemption]:
    """Return the rows of a payer on a token."""
    payer = proof["authorization"]["from"].lower()
    rows = [one for one in rows_of(rail) if one.token == proof["challenge_token"]]
    return [one for one in rows if f"|{payer}|" in one.payment_key]


def begin_settlement(rail: Rail, payer: BasePayer) -> dict[str, Any]:
    """Present an authorization whose settlement is sent and then comes into no block; return the proof."""
    payer.chain.control("fault", name="withhold", count=1)
    proof = payer.authorize(rail.quote())
    answer = rail.present(proof)
    [settlements] = sent_for(rail, proof)
    refused_payment(answer, "tx_not_confirmed", settlements.hashes[0])
    assert answer.headers["Retry-After"] == "2"
    return proof


@pytest.mark.parametrize("server", ["hypercorn", "uvicorn"])
def test_who_waits_is_told_when_the_rail_is_to_end(
    own_rail: Callable[..., Rail],
    on_base: dict[str, str],
    calm_base: SimulatedBase,
    base_payer: BasePayer,
    server: str,
) -> None:
    """However long a call would wait for a block, a restart answers it "not yet"; the rail serves it afterwards."""
    rail = own_rail(**on_base | {"WP_RAIL_CONFIRM_WAIT": "600", "WP_SERVER": server})
    calm_base.control("fault", name="withhold", count=1)
    proof = base_payer.authorize(rail.quote())
    with ThreadPoolExecutor() as threads:
        pending_call = threads.submit(rail.present, proof)
        until(lambda: sent_for(rail, proof))
        rail.stop()
        assert code_of(pending_call.result()) == NOT_YET
    calm_base.control("release")
    rail.start()
    assert present_until_served(rail, proof) == sent_for(rail, proof)[0].hashes[0]


def present_until_decided(rail: Rail, proof: dict[str, Any]) -> httpx.Response:
    """Present until the answer is more than "not yet"."""
    deadline = time.monotonic() + 60
    answer = rail.present(proof)
    while answer.headers.get("Retry-After") and time.monotonic() < deadline:
        answer = rail.present(proof)
    return answer


def present_until_served(rail: Rail, proof: dict[str, Any]) -> str:
    """Present until it is served and return the transaction that settled it."""
    answer = present_until_decided(rail, proof)
    assert answer.status_code == 200, answer.text
    [row] = claims_of(rail, proof)
    assert row.state is State.SPENT
    return row.tx_id


# What is stuck.


def test_a_stuck_settlement_is_replaced(rail: Rail, base: SimulatedBase, base_payer: BasePayer) -> None:
    """After the stuck time: the same nonce, a fee that a node takes for a replacement; it settles, one price moves."""
    proof = begin_settlement(rail, base_payer)
    [stuck] = sent_for(rail, proof)
    later(rail, 31)
    tx_id = present_until_served(rail, proof)
    [settlements] = sent_for(rail, proof)
    assert (settlements.nonce, settlements.attempt, settlements.hashes) == (stuck.nonce, 1, (*stuck.hashes, tx_id))
    assert settlements.fee * 100 >= stuck.fee * 110
    assert settlements.tip * 100 >= stuck.tip * 110
    base.control("advance", blocks=3)
    assert base_payer.usdc == 10**8 - PRICE
    assert base.count_of(settlements.settler) == stuck.nonce + 1


def test_the_first_of_two_counts_when_it_is_the_one_that_is_mined(
    rail: Rail, base: SimulatedBase, base_payer: BasePayer
) -> None:
    """The replacement never lands, the stuck one does after all: that is the settlement."""
    proof = begin_settlement(rail, base_payer)
    base.control("fault", name="reject_late", count=1)
    later(rail, 31)
    until(lambda: sent_for(rail, proof)[0].attempt == 1)
    base.control("release")
    tx_id = present_until_served(rail, proof)
    [settlements] = sent_for(rail, proof)
    assert tx_id == settlements.hashes[0]
    assert len(settlements.hashes) == 2
    assert base_payer.usdc == 10**8 - PRICE


def test_gas_that_became_dearer_is_paid(rail: Rail, base: SimulatedBase, base_payer: BasePayer) -> None:
    """What no block takes at the old fee is replaced by what the next one takes."""
    proof = begin_settlement(rail, base_payer)
    base.control("base_fee", amount="50000000")
    base.control("advance", blocks=2)
    [stuck] = sent_for(rail, proof)
    assert base.count_of(stuck.settler) == stuck.nonce
    later(rail, 31)
    present_until_served(rail, proof)
    [settlements] = sent_for(rail, proof)
    assert settlements.fee >= 50_000_000 > stuck.fee
    assert base_payer.usdc == 10**8 - PRICE


def test_what_pays_enough_is_not_made_dearer(rail: Rail, base: SimulatedBase, base_payer: BasePayer) -> None:
    """A node that holds a settlement back for hours costs its operator no more than one that does not."""
    base.control("base_fee", amount="50000000")
    base.control("advance", blocks=1)
    proof = begin_settlement(rail, base_payer)
    base.control("base_fee", amount="1000000")
    until(lambda: base.ask("eth_getBlockByNumber", "latest", False)["baseFeePerGas"] == hex(1_000_000))
    for _ in range(3):
        later(rail, 3600 // 4)
        [settlements] = sent_for(rail, proof)
        refused_payment(rail.present(proof), "tx_not_confirmed", settlements.hashes[0])
    [settlements] = sent_for(rail, proof)
    assert (settlements.attempt, len(settlements.hashes)) == (0, 1)
    base.control("release")
    assert present_until_served(rail, proof) == settlements.hashes[0]
    assert base_payer.usdc == 10**8 - PRICE


def test_what_was_accepted_and_dropped_is_sent_again(rail: Rail, base: SimulatedBase, base_payer: BasePayer) -> None:
    """A node that forgets a transaction at once gets it again, without a wait for the stuck time."""
    base.control("fault", name="reject_late", count=1)
    proof = base_payer.authorize(rail.quote())
    tx_id = present_until_served(rail, proof)
    [settlements] = sent_for(rail, proof)
    assert settlements.hashes == (tx_id,)
    assert base_payer.usdc == 10**8 - PRICE


def test_a_client_that_never_comes_back_has_paid(rail: Rail, base: SimulatedBase, base_payer: BasePayer) -> None:
    """The money moved, so the row is marked paid without a call; a later call with the proof is served."""
    proof = begin_settlement(rail, base_payer)
    base.control("release")
    [row] = until(lambda: [one for one in claims_of(rail, proof) if one.state is State.PAID])
    assert (row.payer, row.tx_id) == (base_payer.address.lower(), sent_for(rail, proof)[0].hashes[0])
    assert rail.present(proof).status_code == 200


def test_a_stuck_settlement_of_a_client_that_never_comes_back_is_replaced(rail: Rail, base_payer: BasePayer) -> None:
    """Its nonce must not hold up the others'."""
    proof = begin_settlement(rail, base_payer)
    later(rail, 31)
    until(lambda: [one.state for one in claims_of(rail, proof)] == [State.PAID])
    assert base_payer.usdc == 10**8 - PRICE


def test_a_chain_that_was_away_past_the_settle_window_costs_nobody(
    own_rail: Callable[..., Rail], calm_base: SimulatedBase, on_base: dict[str, str], base_payer: BasePayer
) -> None:
    """Each claim is kept until the chain says what became of it, however late; an unpaid one is then deleted."""
    rail = own_rail(**on_base | IMPATIENT, WP_RAIL_SETTLE_WINDOW="0")
    calm_base.control("fault", name="withhold", count=1)
    entry = rail.quote()
    proof, second_authorization = base_payer.authorize(entry, validBefore=int(time.time()) + 3000), BasePayer(calm_base)
    assert code_of(rail.present(proof)) == NOT_YET
    rail.present(second_authorization.authorize(entry))
    assert len(rows_of(rail)) == 2
    calm_base.control("fault", name="unavailable", count=1_000_000)
    later(rail, 5000)
    assert code_of(rail.present(proof)) == (503, "chain_unavailable")
    assert len(rows_of(rail)) == 2, "a third party may have submitted the other authorization"
    calm_base.calm()
    assert present_until_served(rail, proof) in sent_for(rail, proof)[0].hashes
    [row] = until(lambda: match if len(match := rows_of(rail)) < 2 else None)
    assert row.token == proof["challenge_token"]
    assert base_payer.usdc == 10**8 - PRICE


def test_what_another_account_sent_is_not_signed_anew(
    own_rail: Callable[..., Rail],
    calm_base: SimulatedBase,
    on_base: dict[str, str],
    base_payer: BasePayer,
    tmp_path: Path,
) -> None:
    """The operator changes the settler while a settlement is stuck: its nonce is not the new account's."""
    rail = own_rail(**on_base | IMPATIENT)
    proof = begin_settlement(rail, base_payer)
    rail.stop()
    new = Settler(calm_base, tmp_path)
    rail.settings["WP_RAIL_SETTLER_KEY_FILE"] = str(new.file)
    rail.start()
    later(rail, 31)
    assert code_of(rail.present(proof)) == NOT_YET
    [settlements] = sent_for(rail, proof)
    assert (settlements.attempt, calm_base.count_of(new.address)) == (0, 0)
    calm_base.control("release")
    until(lambda: [one.state for one in claims_of(rail, proof)] == [State.PAID])
    assert present_until_served(rail, proof) == settlements.hashes[0]
    authorization = BasePayer(calm_base).authorize(rail.quote())
    assert present_until_served(rail, authorization) == sent_for(rail, authorization)[0].hashes[0]
    assert calm_base.count_of(new.address) == 1


def test_what_cannot_be_sent_again_holds_up_nothing_else(own_rail: Callable[..., Rail], tmp_path: Path) -> None:
    """The node has lost a settlement of an old account and refuses it, as that is empty by now: others are followed."""
    with contextlib.ExitStack() as ends:
        chain = SimulatedBase()
        ends.callback(chain.stop)
        old, new, first, second = (
            Settler(chain, tmp_path, wei=0),
            Settler(chain, tmp_path),
            *map(BasePayer, [chain] * 2),
        )
        before = chain.control("snapshot")["id"]
        chain.control("fund", address=old.address, amount=str(10**18))
        rail = own_rail(**base_settings(chain, old, Account.create().address) | IMPATIENT)
        lost = begin_settlement(rail, first)
        rail.stop()
        chain.control("restore", id=before)
        rail.settings["WP_RAIL_SETTLER_KEY_FILE"] = str(new.file)
        rail.start()
        present_until_served(rail, second.authorize(rail.quote()))
        proof = begin_settlement(rail, BasePayer(chain))
        chain.control("release")
        until(lambda: [one.state for one in claims_of(rail, proof)] == [State.PAID])
        assert [one.fate for one in sent_for(rail, lost)] == [Fate.OPEN]


# Strangers.


def test_a_settlement_by_a_stranger_is_served(rail: Rail, base: SimulatedBase, base_payer: BasePayer) -> None:
    """The payee has the money: the stranger's transaction is the payment, and the rail sends none."""
    proof = base_payer.authorize(rail.quote())
    tx_id = BasePayer(base, usdc=0).use(proof)
    assert present_until_served(rail, proof) == tx_id
    assert sent_for(rail, proof) == []
    assert base_payer.usdc == 10**8 - PRICE


@pytest.mark.parametrize("seconds", [6, 600])
def test_an_authorization_that_a_third_party_used_is_served_after_its_window(
    own_rail: Callable[..., Rail],
    on_base: dict[str, str],
    calm_base: SimulatedBase,
    base_payer: BasePayer,
    seconds: int,
) -> None:
    """The contract judged the window when it was used; before and after `validBefore` the payee has the money."""
    rail = own_rail(**on_base)
    window = {"validBefore": int(time.time()) + 33}
    proof, authorization = (base_payer.authorize(rail.quote(), **window) for _ in range(2))
    tx_id = BasePayer(calm_base, usdc=0).use(proof)
    rail.set_clock(seconds)
    refused_payment(rail.present(authorization), "authorization_expired")
    assert present_until_served(rail, proof) == tx_id
    assert sent_for(rail, proof) == []
    assert base_payer.usdc == 10**8 - PRICE
    forged = {**proof, "signature": proof["signature"][:-4] + "001c"}
    assert rail.present(forged).status_code == 200, "one payment: its stored answer"


def test_a_used_authorization_needs_its_signature(
    own_rail: Callable[..., Rail], on_base: dict[str, str], calm_base: SimulatedBase, base_payer: BasePayer
) -> None:
    """After its window, too, what the chain shows stands in for nothing but the times."""
    rail = own_rail(**on_base)
    proof = base_payer.authorize(rail.quote(), validBefore=int(time.time()) + 33)
    BasePayer(calm_base, usdc=0).use(proof)
    rail.set_clock(6)
    signature = proof["signature"]
    forged = {**proof, "signature": signature[:10] + ("0" if signature[10] != "0" else "1") + signature[11:]}
    refused_payment(rail.present(forged), "invalid_signature")


def test_a_settlement_that_was_overtaken_is_served(rail: Rail, base: SimulatedBase, base_payer: BasePayer) -> None:
    """Our settlement fails in its block, because a stranger's was first; the payer is served nevertheless."""
    proof = begin_settlement(rail, base_payer)
    tx_id = BasePayer(base, usdc=0).use(proof)
    base.control("release")
    assert present_until_served(rail, proof) == tx_id
    [settlements] = until(lambda: [one for one in sent_for(rail, proof) if one.fate is not Fate.OPEN])
    assert settlements.fate is Fate.OVERTAKEN
    assert base_payer.usdc == 10**8 - PRICE


def test_a_stranger_is_looked_for_until_searches_know_him(
    rail: Rail, base: SimulatedBase, base_payer: BasePayer
) -> None:
    """While searches for events lag, the answer is "not yet"; nothing is sent meanwhile."""
    base.control("lag", blocks=100_000)
    proof = base_payer.authorize(rail.quote())
    tx_id = BasePayer(base, usdc=0).use(proof)
    refused_payment(rail.present(proof), "tx_not_confirmed")
    base.control("lag", blocks=0)
    assert present_until_served(rail, proof) == tx_id
    assert sent_for(rail, proof) == []


def test_a_second_payer_of_a_token_in_flight_is_not_charged(
    rail: Rail, base: SimulatedBase, base_payer: BasePayer
) -> None:
    """409 while the first is on its way, 409 when it has bought; his authorization is never used."""
    entry = rail.quote()
    base.control("fault", name="withhold", count=1)
    first, second_authorization = base_payer.authorize(entry), BasePayer(base)
    assert code_of(rail.present(first)) == NOT_YET
    second = second_authorization.authorize(entry)
    refused_otherwise(rail.present(second), 409, "payment_in_progress")
    base.control("release")
    present_until_served(rail, first)
    refused_otherwise(rail.present(second), 409, "payment_already_spent")
    assert (base_payer.usdc, second_authorization.usdc) == (10**8 - PRICE, 10**8)
    assert len(sent_for(rail, first)) == 1


# What cannot be settled.


def refused_unsent(rail: Rail, proof: dict[str, Any], code: str) -> None:
    """Present a proof that is refused without a submission, and leaves no claim behind."""
    refused_payment(rail.present(proof), code)
    assert sent_for(rail, proof) == []
    assert claims_of(rail, proof) == []


def test_a_cancelled_authorization_buys_nothing(rail: Rail, base_payer: BasePayer) -> None:
    """The payer took it out of use before it was presented."""
    proof = base_payer.authorize(rail.quote())
    base_payer.cancel(proof)
    refused_unsent(rail, proof, "authorization_used")


def test_an_empty_account_buys_nothing(rail: Rail, base: SimulatedBase) -> None:
    """One atomic unit is missing; with it the same authorization is settled."""
    payer = BasePayer(base, usdc=PRICE - 1)
    proof = payer.authorize(rail.quote())
    refused_unsent(rail, proof, "insufficient_funds")
    base.control("mint", address=payer.address, amount="1")
    present_until_served(rail, proof)
    assert payer.usdc == 0


def test_a_settler_without_gas_is_a_chain_that_is_away(
    own_rail: Callable[..., Rail], base: SimulatedBase, base_payer: BasePayer, tmp_path: Path
) -> None:
    """503 with Retry-After, for the client must not pay again; with gas the same proof is served."""
    poor = Settler(base, tmp_path, wei=0)
    rail = own_rail(**base_settings(base, poor, Account.create().address))
    proof = base_payer.authorize(rail.quote())
    answer = rail.present(proof)
    refused_otherwise(answer, 503, "chain_unavailable")
    assert answer.headers["Retry-After"] == "5"
    assert sent_for(rail, proof) == []
    base.control("fund", address=poor.address, amount=str(10**18))
    present_until_served(rail, proof)


def test_a_payer_whose_settlements_fail_is_not_settled_for_a_while(rail: Rail, base: SimulatedBase) -> None:
    """P-LN-08: three times he empties his account in between; the fourth try sends nothing, until an hour is over."""
    payer, elsewhere = BasePayer(base, usdc=PRICE), Account.create().address
    for failures in range(3):
        proof = begin_settlement(rail, payer)
        payer.transfer(elsewhere, PRICE)
        base.control("release")
        answer = present_until_decided(rail, proof)
        # The rail follows what it sent without a call, too: the third failure may be known when the call comes.
        reasons = {"insufficient_funds", "settlement_failed"} if failures == 2 else {"insufficient_funds"}
        assert code_of(answer)[1] in reasons
        refused_payment(answer, code_of(answer)[1])
        assert [one.fate for one in sent_for(rail, proof)] == [Fate.FAILED]
        base.control("mint", address=payer.address, amount=str(PRICE))
    for seconds in (0, 3500):
        later(rail, seconds)
        refused_unsent(rail, payer.authorize(rail.quote()), "settlement_failed")
    assert payer.usdc == PRICE
    later(rail, 200)
    present_until_served(rail, payer.authorize(rail.quote()))
    assert payer.usdc == 0


# Chains that change their mind.


@pytest.fixture
def slow_rail(own_rail: Callable[..., Rail], slow_base: SimulatedBase, tmp_path: Path) -> Rail:
    """A rail on a chain whose blocks come when the test says so."""
    slow_settler = Settler(slow_base, tmp_path)
    return own_rail(**base_settings(slow_base, slow_settler, Account.create().address) | IMPATIENT)


def test_settlements_that_fail_by_an_account_each_are_bounded(
    own_rail: Callable[..., Rail], slow_base: SimulatedBase, tmp_path: Path
) -> None:
    """P-LN-08: beyond the bound who paid before is settled, and up to twice of it who held the price for a while."""
    settings = base_settings(slow_base, Settler(slow_base, tmp_path), Account.create().address)
    token = tmp_path / "metrics_token"
    rail = own_rail(**settings | IMPATIENT | {"WP_RAIL_FAILURES": "2", "WP_METRICS_TOKEN_FILE": str(token)})

    def settle(payer: BasePayer) -> None:
        proof = payer.authorize(rail.quote())
        assert code_of(rail.present(proof)) == NOT_YET
        slow_base.control("advance", blocks=4)
        present_until_served(rail, proof)

    def is_refused(payer: BasePayer) -> bool:
        return code_of(rail.present(payer.authorize(rail.quote()))) == (402, "settlement_failed")

    known, old, older = (BasePayer(slow_base) for _ in range(3))
    slow_base.control("advance", blocks=20)
    settle(known)
    fail_settlements(rail, range(2), now=int(time.time()))
    until(lambda: is_refused(BasePayer(slow_base)))
    settle(old)
    fail_settlements(rail, range(2, 4), now=int(time.time()))
    until(lambda: is_refused(older))
    measures = rail.http.get("/metrics", headers={"Authorization": f"Bearer {token.read_text('ascii')}"}).text
    assert 'weldproof_rail_failed_settlements{network="base_mainnet"} 4' in measures
    settle(known)
    settle(old)
    later(rail, 3700)
    fresh = BasePayer(slow_base)
    until(lambda: not is_refused(fresh))


def test_the_chain_s_own_time_decides_about_the_window(slow_rail: Rail, slow_base: SimulatedBase) -> None:
    """An authorization that only the rail's clock finds open: the contract's word, before anything is sent."""
    payer, now = BasePayer(slow_base), int(time.time())
    slow_base.control("block_time_offset", seconds=2000)
    refused_unsent(slow_rail, payer.authorize(slow_rail.quote(), validBefore=now + 1000), "authorization_expired")
    later(slow_rail, 5000)
    early = payer.authorize(slow_rail.quote(), validAfter=now + 3000)
    refused_unsent(slow_rail, early, "authorization_not_yet_valid")


def sent_of(rail: Rail, proof: dict[str, Any]) -> str:
    """Present, and return the transaction that was sent for it and waits for a block."""
    assert code_of(rail.present(proof)) == NOT_YET
    return next(one for one in settlements_of(rail) if one.token == proof["challenge_token"]).hashes[0]


def test_a_reorganisation_before_finality_costs_nothing(slow_rail: Rail, slow_base: SimulatedBase) -> None:
    """The settlement is sent again, as it was; one price moves."""
    payer = BasePayer(slow_base)
    proof = payer.authorize(slow_rail.quote())
    tx_id = sent_of(slow_rail, proof)
    slow_base.control("advance", blocks=2)
    assert payer.usdc == 10**8 - PRICE
    assert code_of(slow_rail.present(proof)) == NOT_YET
    assert slow_base.control("reorg", depth=2)["dropped"] == [tx_id]
    assert payer.usdc == 10**8
    until(lambda: slow_base.ask("eth_getTransactionByHash", tx_id))
    slow_base.control("advance", blocks=3)
    assert present_until_served(slow_rail, proof) == tx_id
    assert payer.usdc == 10**8 - PRICE
    assert len(settlements_of(slow_rail)) == 1


@pytest.mark.parametrize("lying", [False, True], ids=["a deep reorganisation", "a node that lied about finality"])
def test_nonces_heal_after_a_reorganisation_of_what_was_served(
    slow_rail: Rail, slow_base: SimulatedBase, lying: bool
) -> None:
    """A served settlement is undone: the next one takes it along, so neither is lost nor charged twice."""
    first, second = BasePayer(slow_base), BasePayer(slow_base)
    proof = first.authorize(slow_rail.quote())
    tx_id = sent_of(slow_rail, proof)
    blocks = 1 if lying else 4
    slow_base.control("fault", name="early_finality", count=10_000 if lying else 0)
    slow_base.control("advance", blocks=blocks)
    assert present_until_served(slow_rail, proof) == tx_id
    until(lambda: [one.fate for one in settlements_of(slow_rail)] == [Fate.SETTLED])
    slow_base.calm()
    assert slow_base.control("reorg", depth=blocks)["dropped"] == [tx_id]
    assert first.usdc == 10**8
    authorization = second.authorize(slow_rail.quote())
    later = sent_of(slow_rail, authorization)
    slow_base.control("advance", blocks=3)
    assert present_until_served(slow_rail, authorization) == later
    assert [one.nonce for one in settlements_of(slow_rail)] == [0, 1]
    assert (first.usdc, second.usdc) == (10**8 - PRICE, 10**8 - PRICE)
    assert slow_rail.present(proof).headers["Idempotent-Replayed"] == "true"


def test_what_a_reorganisation_took_back_is_replaced_when_gas_became_dearer(
    slow_rail: Rail, slow_base: SimulatedBase
) -> None:
    """A served settlement that no block takes any more at its old fee does not hold up those after it."""
    first, second = BasePayer(slow_base), BasePayer(slow_base)
    proof = first.authorize(slow_rail.quote())
    sent_of(slow_rail, proof)
    slow_base.control("advance", blocks=4)
    present_until_served(slow_rail, proof)
    until(lambda: [one.fate for one in settlements_of(slow_rail)] == [Fate.SETTLED])
    slow_base.control("reorg", depth=4)
    slow_base.control("base_fee", amount="50000000")
    slow_base.control("advance", blocks=1)
    authorization = second.authorize(slow_rail.quote())
    sent_of(slow_rail, authorization)
    slow_base.control("advance", blocks=3)
    assert (first.usdc, second.usdc) == (10**8, 10**8)
    later(slow_rail, 31)
    until(lambda: settlements_of(slow_rail)[0].attempt == 1)
    newest = settlements_of(slow_rail)[0].hashes[-1]
    until(lambda: slow_base.ask("eth_getTransactionByHash", newest))  # it is written down before it is sent
    slow_base.control("advance", blocks=3)
    present_until_served(slow_rail, authorization)
    assert (first.usdc, second.usdc) == (10**8 - PRICE, 10**8 - PRICE)
    until(lambda: {one.fate for one in settlements_of(slow_rail)} == {Fate.SETTLED})


def test_a_nonce_that_went_to_something_else_is_given_up(
    own_rail: Callable[..., Rail], slow_base: SimulatedBase, tmp_path: Path
) -> None:
    """The operator used the settler's key by hand: the settlement is sent again with the next nonce."""
    settler, operator, payer = Settler(slow_base, tmp_path), BasePayer(slow_base), BasePayer(slow_base)
    rail = own_rail(**base_settings(slow_base, settler, Account.create().address) | IMPATIENT)
    proof = payer.authorize(rail.quote())
    sent_of(rail, proof)
    operator.account = Account.from_key(settler.file.read_text("ascii"))
    operator.address = settler.address
    settlements = settlements_of(rail)[0]
    operator.submit(slow_base.usdc, call("approve(address,uint256)", payer.address, 1), nonce=settlements.nonce)
    slow_base.control("advance", blocks=1)
    until(lambda: settlements_of(rail)[0].fate is Fate.VOID)
    assert payer.usdc == 10**8
    assert code_of(rail.present(proof)) == NOT_YET
    slow_base.control("advance", blocks=3)
    assert present_until_served(rail, proof) == settlements_of(rail)[1].hashes[0]
    assert [one.nonce for one in settlements_of(rail)] == [settlements.nonce, settlements.nonce + 1]
    assert payer.usdc == 10**8 - PRICE
