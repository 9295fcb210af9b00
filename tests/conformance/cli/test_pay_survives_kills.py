"""`weldproof pay` is killed at each of its steps, and goes on: one payment on the chain, one receipt.

The payer, the rail and the chains are real processes. What pays the throw-away account is the simulated node's, so that
the only transfers of USDC to the payee are payments.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.cli.killing import CALL, PRICE, USDC, Payer, Seen, Watch, World, world

LANES = ("algorand", "base", "solana")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A whole simulated stack behind proxies."""
    with world(tmp_path_factory.mktemp("stack")) as new_world:
        yield new_world


def at(phase: str, payer: Payer, *, proof: bool = False) -> Watch:
    """Return what kills at the first request with a proof, else at the first with the payment's transaction."""

    def kills(request_seen: Seen) -> bool:
        # On Solana, an account is opened by a transaction of its own before the payment is signed.
        is_payment = request_seen.is_transaction and any(one["state"] == "signed" for one in payer.records())
        return request_seen.phase == phase and (request_seen.has_proof if proof else is_payment)

    return kills


def at_request(number: int, phase: str) -> Watch:
    """Return what kills at one request, counted from 1."""
    count = 0

    def kills(request_seen: Seen) -> bool:
        nonlocal count
        count += request_seen.phase == phase
        return request_seen.phase == phase and count == number

    return kills


def go_on(payer: Payer, *words: str, resume: bool) -> None:
    """Go on by the file, if there is a payment that was signed, or by the same command; it is served."""
    files = payer.open_files()
    assert len(files) <= 1
    result = payer.run_command("--resume", str(files[0])) if files and resume else payer.run_command(*words)
    assert result.returncode == 0, (payer.records(), result.stdout, result.stderr)


def paid_units(stack: World, lane: str) -> int:
    """Return what the rail's payee holds."""
    return stack.balance_of(lane, stack.ready[f"payto_{lane}"], USDC[lane]["rail"])


def call(stack: World, lane: str, *words: str) -> list[str]:
    """Return the words that pay for a call."""
    return [stack.places[stack.ready["rail"]] + CALL, "--lane", lane, *words]


def one_payment(stack: World, lane: str, payer: Payer, before: int) -> None:
    """Hold that the payee got the price once, and that one receipt was kept."""
    assert paid_units(stack, lane) - before == PRICE
    assert len(payer.receipts()) == 1
    assert [one["state"] for one in payer.records()] == ["served"]


@pytest.mark.parametrize("lane", ["algorand", "solana"])
@pytest.mark.parametrize("phase", ["before", "after"])
def test_a_kill_at_the_transaction_pays_once(stack: World, lane: str, phase: str, tmp_path: Path) -> None:
    """Whether the node has the transaction or not, the same one is on the chain in the end, and is served."""
    payer, before = Payer(stack, tmp_path), paid_units(stack, lane)
    assert payer.run_until_killed(at(phase, payer), *call(stack, lane))
    [record] = payer.records()
    assert record["state"] == "signed"
    go_on(payer, *call(stack, lane), resume=phase == "before")
    one_payment(stack, lane, payer, before)
    assert payer.records()[0]["signed"]["tx_id"] == record["signed"]["tx_id"]


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("phase", ["before", "after"])
def test_a_kill_at_the_proof_pays_once(stack: World, lane: str, phase: str, tmp_path: Path) -> None:
    """Whether the rail has the proof or not, it is served; an answer that the payer never read is the one kept."""
    payer, before = Payer(stack, tmp_path), paid_units(stack, lane)
    assert payer.run_until_killed(at(phase, payer, proof=True), *call(stack, lane))
    go_on(payer, *call(stack, lane), resume=phase == "after")
    one_payment(stack, lane, payer, before)


def test_a_kill_before_anything_is_signed_costs_nothing(stack: World, tmp_path: Path) -> None:
    """The file of a payment that was only prepared pays nothing by itself; the same command pays once."""
    payer, before = Payer(stack, tmp_path), paid_units(stack, "base")
    assert payer.killed_in_state("prepared", *call(stack, "base"))
    [file] = payer.files()
    if payer.records()[0]["state"] == "prepared":
        result = payer.run_command("--resume", str(file))
        assert result.returncode == 1, result.stderr
        assert "--resume starts no payment" in result.stderr
        assert paid_units(stack, "base") == before
    go_on(payer, *call(stack, "base"), resume=False)
    assert paid_units(stack, "base") - before == PRICE
    assert len(payer.receipts()) == 1


def test_over_a2a_a_kill_pays_once(stack: World, tmp_path: Path) -> None:
    """The task is paid by the same proof after the kill, and its artifact holds the receipt."""
    words = call(stack, "algorand", "--a2a")
    payer, before = Payer(stack, tmp_path), paid_units(stack, "algorand")
    assert payer.run_until_killed(at("after", payer, proof=True), *words)
    assert payer.records()[0]["channel"] == "a2a"
    go_on(payer, *words, resume=True)
    one_payment(stack, "algorand", payer, before)


@pytest.mark.parametrize("lane", LANES)
def test_a_link_is_paid_once_through_a_kill(stack: World, lane: str, tmp_path: Path) -> None:
    """The node has the transaction and the payer never heard of it: the page shows Paid, for one transfer."""
    page, payee, asset = stack.link(lane)
    payer, before = Payer(stack, tmp_path), stack.balance_of(lane, payee, asset)
    assert payer.run_until_killed(at("after", payer), page)
    go_on(payer, page, resume=lane == "base")
    assert stack.balance_of(lane, payee, asset) - before == PRICE
    assert [one["state"] for one in payer.records()] == ["served"]


@pytest.mark.slow
@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("phase", ["before", "after"])
@pytest.mark.parametrize("words", [(), ("--a2a",)])
def test_a_kill_at_any_request_pays_once(
    stack: World, lane: str, phase: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    """At each request to the rail and the chain in turn, until a run needs no more of them."""
    for number in range(1, 200):
        folder = tmp_path / str(number)
        folder.mkdir()
        payer, before = Payer(stack, folder), paid_units(stack, lane)
        was_killed = payer.run_until_killed(at_request(number, phase), *call(stack, lane, *words))
        if was_killed:
            go_on(payer, *call(stack, lane, *words), resume=number % 2 == 0)
        assert paid_units(stack, lane) - before == PRICE, number
        assert len(payer.receipts()) == 1, number
        if not was_killed:
            break
    else:
        raise AssertionError("no run came to its end")


@pytest.mark.slow
@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("state", ["prepared", "signed", "paid", "served"])
def test_a_kill_at_any_write_pays_once(stack: World, lane: str, state: str, tmp_path: Path) -> None:
    """As soon as the file is in a state; afterwards the payment is served, and no other is made."""
    payer, before = Payer(stack, tmp_path), paid_units(stack, lane)
    payer.killed_in_state(state, *call(stack, lane))
    if payer.open_files() or not payer.receipts():
        go_on(payer, *call(stack, lane), resume=True)
    assert paid_units(stack, lane) - before == PRICE
    assert len(payer.receipts()) == 1
