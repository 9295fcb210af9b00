"""A quote is honoured by workers of different terms, clocks and secrets on one database (P-CH-13)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.reference.rail.jumping_rail import JumpingRail, until
from tests.reference.rail.rail_answers import code_of
from tests.reference.rail.rail_stack import COMPLIANCE, COMPLIANCE_BODY, Payer, Rail, SimulatedChain, proof_of

CHEAP, DEAR = "compliance-receipt=50000", "compliance-receipt=70000"
UNPAID = (503, "terms_superseded")


@pytest.fixture
def worker(
    chain: SimulatedChain, pay_to: str, tmp_path: Path, database: dict[str, str]
) -> Iterator[Callable[..., JumpingRail]]:
    """Make workers of one rail: `worker(prices, wall=…)`."""
    created_items: list[JumpingRail] = []
    with ExitStack() as exits:

        def make(prices: str = CHEAP, *, wall: float = 0, **settings: str) -> JumpingRail:
            environment = {"WP_RAIL_DATA_DIR": str(tmp_path / "data"), "WP_RAIL_PRICES": prices, **database, **settings}
            created_items.append(JumpingRail(chain, tmp_path / f"worker{len(created_items)}", pay_to, environment))
            created_items[-1].set_wall(wall)
            exits.callback(created_items[-1].close)
            created_items[-1].start()
            return created_items[-1]

        yield make


def test_a_quote_is_kept_by_whoever_has_it(worker: Callable[..., JumpingRail], payer: Payer) -> None:
    """Worker B asks another price: what A quoted before, and until it noticed, is served by the old terms, at both."""
    first = worker(CHEAP)
    before = first.quote()
    second = worker(DEAR)
    meanwhile = []
    while (answer := first.http.post(COMPLIANCE, json=COMPLIANCE_BODY)).status_code == 402:
        meanwhile.append(answer.json()["accepts"][0])
    assert (answer.status_code, answer.json()["error"]) == UNPAID
    assert int(answer.headers["Retry-After"]) >= 1
    assert first.health() == UNPAID
    assert second.health() == (200, "ok")
    # The last of what it quoted until it noticed, if it did so after the other had started.
    late = [(entry, second) for entry in meanwhile[-1:]]
    for entry, rail in ((before, first), *late, (second.quote(), first)):
        task = rail.present(proof_of(payer.pay(entry), entry))
        assert task.status_code == 200, task.text


def test_a_superseded_worker_tells_of_a_proof_and_quotes_nothing(
    worker: Callable[..., JumpingRail], payer: Payer
) -> None:
    """A proof that pays too little is judged there, and no new challenge is issued with the refusal."""
    first = worker(CHEAP)
    entry = first.quote()
    worker(DEAR)
    until(lambda: first.unpaid() == UNPAID)
    answer = first.present(proof_of(payer.pay(entry, amount=1), entry))
    assert code_of(answer) == UNPAID
    assert "accepts" not in answer.json()
    assert "PAYMENT-RESPONSE" in answer.headers


def test_old_terms_that_are_put_in_force_again_bring_their_worker_back(worker: Callable[..., JumpingRail]) -> None:
    """A rollback: the worker that starts last decides, and a worker with the same terms issues again."""
    first, second = worker(CHEAP), worker(DEAR)
    until(lambda: first.unpaid() == UNPAID)
    third = worker(CHEAP)
    until(lambda: second.unpaid() == UNPAID)
    until(lambda: first.unpaid() == (402, "payment_required"))
    assert (first.health(), second.health()) == ((200, "ok"), UNPAID)
    assert third.unpaid() == (402, "payment_required")


@pytest.mark.parametrize("wall", [25, -25], ids=["ahead", "behind"])
def test_workers_whose_clocks_differ_keep_each_others_quotes(
    worker: Callable[..., JumpingRail], payer: Payer, wall: float
) -> None:
    """Terms put in force by a worker whose clock is ahead, or behind: no payer is refused because of it."""
    first = worker(CHEAP)
    worker(DEAR)
    second = worker(CHEAP, wall=wall)
    until(lambda: first.unpaid() == (402, "payment_required"))
    for issuing, judging in ((first, second), (second, first)):
        entry = issuing.quote()
        task = judging.present(proof_of(payer.pay(entry), entry))
        assert task.status_code == 200, task.text


def test_a_payment_in_time_by_the_issuers_clock_is_in_time(worker: Callable[..., JumpingRail], payer: Payer) -> None:
    """The worker that quoted is behind, the one that is asked ahead, and the proof comes at the end of the lifetime."""
    behind, ahead = worker(wall=-25), worker(wall=25)
    entry = behind.quote()
    proof = proof_of(payer.pay(entry), entry)
    for rail in (behind, ahead):
        rail.set_clock(1795)
    answer = ahead.present(proof)
    assert answer.status_code == 200, answer.text


def test_a_worker_with_another_secret_does_not_start(
    worker: Callable[..., JumpingRail], tmp_path: Path, payer: Payer
) -> None:
    """The other workers would refuse its tokens: it says what to do, and its secret counts if the settings say so."""
    first = worker()
    entry = first.quote()
    other = tmp_path / "other_secret"
    other.write_text("07" * 32, "ascii")
    with pytest.raises(AssertionError, match=r"WP_RAIL_TOKEN_SECRET_FILE: .*adopt-token-secret"):
        worker(WP_RAIL_TOKEN_SECRET_FILE=str(other))
    with pytest.raises(AssertionError, match="WP_SERVICE_WORD: "):
        worker(WP_SERVICE_WORD="Otherproof")
    assert first.present(proof_of(payer.pay(entry), entry)).status_code == 200
    first.stop()
    first.settings["WP_RAIL_TOKEN_SECRET_FILE"] = str(other)
    first.command("adopt-token-secret")
    entry = first.start().quote()
    assert first.present(proof_of(payer.pay(entry), entry)).status_code == 200


def test_no_secret_is_in_the_database(own_rail: Callable[..., Rail]) -> None:
    """What tells secrets apart gives nothing of them away."""
    rail = own_rail()
    data = rail.folder / "data"
    secret = bytes.fromhex((data / "token_secret").read_text("ascii"))
    kept = b"".join(path.read_bytes() for path in data.glob("rail.sqlite3*"))
    assert b"token_secret" in kept
    assert secret not in kept
    assert secret.hex().encode() not in kept
