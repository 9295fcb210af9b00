"""Paid calls by the front and by the app behind it: one answer, one ledger, byte for byte."""

from __future__ import annotations

import base64
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import select

from reference.lanes.algorand.lane import AlgorandLane
from reference.lanes.lane import ChainUnavailable
from reference.protocol.observed_transaction import ABSENT, ObservedTransaction, Transfer, TxStatus
from reference.rail.paid_fast_path import PaidFastPath
from reference.rail.signed_answers import Signer
from reference.store.database import DatabaseUnavailable
from reference.store.database_url import open_database, sqlite_dsn
from reference.store.rail_tables import redemptions
from reference.store.redemptions import Redemptions
from reference.store.used_transfers import used_transfers
from tests.reference.rail.fast_and_slow_path import (
    JSON,
    NETWORK,
    NOW,
    PATHS,
    PAYEE,
    Asked,
    Doors,
    Header,
    answer,
    doors_of,
    stand_still,
)
from tools.bench.reference.memory_rail import NoNode

_KEY = b"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
_MESSAGE = b'{"method":"GET","authority":"a.example","path":"/","headers":{},"public_key_hex":"' + _KEY + b'"}'
BODIES = (
    b'{"jws":"e30.e30.AA"}',
    _MESSAGE,
    b'{"recipient_address":"screen-allow","network":"algorand_mainnet"}',
)
PRICES = (10_000, 10_000, 50_000)


class Chain(AlgorandLane):
    """A lane whose chain is in memory, the same for both rails."""

    shown: dict[str, ObservedTransaction]

    async def observe(self, tx_id: str) -> ObservedTransaction:
        """Return what the test put there."""
        return self.shown.get(tx_id, ABSENT)


@dataclass
class Paying:
    """Both doors, and payers before them."""

    doors: Doors
    folder: Path
    shown: dict[str, ObservedTransaction] = field(default_factory=dict)
    made: int = 0

    async def quote(self, place: int = 0) -> tuple[Asked, str]:
        """Return a request that was not made before, and its token."""
        self.made += 1
        asked = Asked(path=PATHS[place], query=f"n={self.made}".encode(), body=(BODIES[place],))
        status, _, body = await self.doors.ask_both(asked)
        assert status == 402
        return asked, orjson.loads(body)["accepts"][0]["extra"]["payment_reference"]

    def pay(self, token: str, place: int = 0, **other_value: Any) -> str:
        """Show a payment of a token, or something that is not quite one, and return its transaction."""
        tx_id = base64.b32encode(uuid.uuid5(uuid.NAMESPACE_URL, token).bytes * 2).decode().rstrip("=")[:51] + "A"
        sound = ObservedTransaction(
            TxStatus.CONFIRMED,
            final=True,
            block_time=NOW,
            sender="PAYER",
            note=token.encode(),
            transfers=(Transfer(0, NETWORK.asset_id, "PAYER", PAYEE, PRICES[place]),),
        )
        self.shown[tx_id] = replace(sound, **other_value)
        return tx_id

    async def build_paid_request(self, place: int = 0, **other_value: Any) -> tuple[Asked, str, str]:
        """Return a request with the header of a payment that was made for it, its token and its transaction."""
        asked, token = await self.quote(place)
        tx_id = self.pay(token, place, **other_value)
        return add_proof(asked, tx_id=tx_id, payment_reference=token), token, tx_id

    async def rows(self) -> list[list[Any]]:
        """Return what either ledger holds, but for numbers and counters that chance and duties move."""
        matches: list[list[Any]] = []
        for name in ("front", "app"):
            database = open_database(sqlite_dsn(self.folder / name / "rail.sqlite3"))
            columns = [one for one in redemptions.c if one.name not in {"id", "claim_order", "lease_counter"}]
            rows = await database.rows(select(*columns).order_by(redemptions.c.token, redemptions.c.payment_key))
            used = await database.rows(select(used_transfers.c.tx_id).order_by(used_transfers.c.tx_id))
            matches.append([*map(tuple, rows), *map(tuple, used)])
            await database.close()
        return matches


def header(proof: Any) -> Header:
    """Return a proof as a header."""
    return b"x-payment", base64.b64encode(orjson.dumps(proof))


def add_proof(question: Asked, **proof: Any) -> Asked:
    """Return a request with a proof."""
    return replace(question, headers=(JSON, header(proof)))


@pytest.fixture
async def both_rails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Paying]:
    """Both rails without limits of rate, over one chain."""
    stand_still(monkeypatch)
    monkeypatch.setattr("reference.rail.services.uuid.uuid4", lambda: uuid.UUID(int=0))
    shown: dict[str, ObservedTransaction] = {}

    def lane() -> Chain:
        made = Chain(NETWORK, NoNode(), None)
        made.shown = shown
        return made

    still = {"rail_confirm_wait": 0, "rail_node_behind_seconds": 0, "rate_limits": False, "body_limit": 2_000}
    async with AsyncExitStack() as exits:
        doors = await doors_of(exits, tmp_path, lane, **still)
        yield Paying(doors, tmp_path, shown)


@pytest.mark.parametrize("place", [0, 1, 2])
async def test_a_paid_call_is_the_same_by_either_door(both_rails: Paying, place: int) -> None:
    """Served, served again from the ledger, and refused for everything else; both ledgers hold the same."""
    asked, token, tx_id = await both_rails.build_paid_request(place)
    _, other_token = await both_rails.quote(place)
    proof = {"tx_id": tx_id, "payment_reference": token}
    answers = [
        await both_rails.doors.ask_both(one)
        for one in (
            asked,
            asked,
            replace(asked, body=tuple(BODIES[place][number : number + 1] for number in range(len(BODIES[place])))),
            replace(asked, query=b"other=1"),
            replace(asked, path=PATHS[(place + 1) % 3], body=(BODIES[(place + 1) % 3],)),
            replace(asked, method="GET"),
            replace(asked, method="PUT"),
            add_proof(asked, **proof, network=NETWORK.caip2),
            add_proof(asked, tx_id=tx_id, payment_reference=other_token),
        )
    ]
    assert [status for status, _, _ in answers] == [200, 200, 200, 409, 409, 402, 402, 200, 409]
    assert answers[0][2] == answers[1][2]
    assert [(b"idempotent-replayed", b"true") in headers for _, headers, _ in answers[:2]] == [False, True]
    first, second = await both_rails.rows()
    assert first == second
    assert len(first) == 2  # a spent row and a used transfer


ODD_CHAIN: Sequence[tuple[dict[str, Any], int]] = (
    ({"status": TxStatus.PENDING}, 402),
    ({"final": False}, 402),
    ({"status": TxStatus.FAILED}, 402),
    ({"block_time": NOW - 3_600}, 402),
    ({"block_time": NOW + 7_200}, 402),
    ({"note": b"another"}, 402),
    ({"transfers": ()}, 402),
    ({"transfers": (Transfer(0, NETWORK.asset_id, "PAYER", PAYEE, 9_999),)}, 402),
    ({"transfers": (Transfer(0, "1", "PAYER", PAYEE, 10_000),)}, 402),
    ({"transfers": (Transfer(0, NETWORK.asset_id, "PAYER", "NOBODY", 10_000),)}, 402),
    ({"transfers": (Transfer(0, NETWORK.asset_id, "PAYER", PAYEE, 10_001),)}, 200),
)


@pytest.mark.parametrize(("transaction", "status"), ODD_CHAIN)
async def test_what_the_chain_shows_is_judged_alike(
    both_rails: Paying, transaction: dict[str, Any], status: int
) -> None:
    """Every refusal of step 14, and what is left in the ledgers."""
    asked, token, _ = await both_rails.build_paid_request(**transaction)
    assert (await both_rails.doors.ask_both(asked))[0] == status
    unknown = add_proof(asked, tx_id="B" * 51 + "A", payment_reference=token)
    await both_rails.doors.ask_both(unknown)
    first, second = await both_rails.rows()
    assert first == second


async def test_odd_presentations_are_refused_alike(both_rails: Paying) -> None:
    """Proofs, heads and bodies of every kind around a payment that is good; the good one is served at the end."""
    asked, token, tx_id = await both_rails.build_paid_request()
    good = {"tx_id": tx_id, "payment_reference": token}
    [_, valid] = asked.headers
    proofs: Sequence[Any] = (
        {},
        [],
        "text",
        {**good, "network": "eip155:8453"},
        {**good, "network": 1},
        {**good, "scheme": "exact"},
        {**good, "tx_id": ""},
        {**good, "tx_id": "not canonical"},
        {**good, "tx_id": "0x" + "a" * 64},
        {**good, "payment_reference": "1800000000:" + "0" * 16 + ":" + "0" * 64},
        {**good, "payment_reference": token[:-1] + ("0" if token[-1] != "0" else "1")},
        {"authorization": {}, "signature": "0x", "challenge_token": token},
    )
    heads: Sequence[tuple[Header, ...]] = (
        (valid,),
        (JSON, JSON, valid),
        (JSON, valid, valid),
        ((b"content-type", b"text/plain"), valid),
        (JSON, (b"x-payment", valid[1] + b"=")),
        (JSON, (b"x-payment", valid[1].replace(b"e", b"\xe9"))),
        (JSON, (b"x-payment", b"A" * 8_196)),
        (JSON, valid, (b"payment-signature", valid[1])),
        (JSON, valid, (b"content-encoding", b"gzip")),
    )
    bodies: Sequence[tuple[bytes, ...]] = (
        (b"",),
        (),
        (b"\xff",),
        (b'{"jws":1}',),
        (b'{"jws":1e999}',),
        (b'{"jws":"a","jws":"a"}',),
        (b'{"jws":"e30.e30.AA","jwks":{"keys":[]}}',),
        (b"x" * 2_001,),
    )
    some = [
        *(
            add_proof(asked, **proof) if isinstance(proof, dict) else _add_proof_header(asked, proof)
            for proof in proofs
        ),
        *(replace(asked, headers=one) for one in heads),
        *(replace(asked, body=one) for one in bodies),
        *(replace(asked, method=one) for one in ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get")),
        replace(asked, path=asked.path + "/"),
    ]
    by_name = {(await both_rails.doors.ask_both(one))[0] for one in some}
    assert by_name >= {402, 409, 413, 415, 422, 404, 405}
    assert max(by_name) < 500
    assert (await both_rails.doors.ask_both(asked))[0] == 200
    first, second = await both_rails.rows()
    assert first == second


def _add_proof_header(request: Asked, proof: Any) -> Asked:
    return replace(request, headers=(JSON, header(proof)))


AWAY: Sequence[tuple[type, str, Exception, tuple[int, str]]] = (
    (Chain, "observe", ChainUnavailable(), (503, "chain_unavailable")),
    (Redemptions, "find_involved", DatabaseUnavailable("away"), (503, "store_unavailable")),
    (Redemptions, "claim", RuntimeError("a secret"), (500, "internal_error")),
    (Redemptions, "mark_paid_and_spend", DatabaseUnavailable("away"), (503, "store_unavailable")),
    (Signer, "make_answer", RuntimeError("a secret"), (503, "answer_unavailable")),
)


@pytest.mark.parametrize(("owner", "name", "fault", "expected_error"), AWAY, ids=[name for _, name, _, _ in AWAY])
async def test_what_is_away_is_told_alike(
    both_rails: Paying,
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    name: str,
    fault: Exception,
    expected_error: tuple[int, str],
) -> None:
    """A node, the ledger, the answer, and an unexpected fault: in no case the payer loses the payment."""
    asked, _, _ = await both_rails.build_paid_request()
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, _raise(fault))
        status, _, body = await both_rails.doors.ask_both(asked)
    assert (status, orjson.loads(body)["error"]) == expected_error
    assert b"secret" not in body
    assert (await both_rails.doors.ask_both(asked))[0] == 200
    first, second = await both_rails.rows()
    assert first == second


def _raise(fault: Exception) -> Any:
    def fail(*_: Any, **__: Any) -> Any:
        raise fault

    return fail


async def test_a_plain_paid_call_never_reaches_the_app(both_rails: Paying) -> None:
    """It is served in front, and served again."""
    asked, _, _ = await both_rails.build_paid_request()
    assert isinstance(both_rails.doors.front.app, PaidFastPath)
    both_rails.doors.front.app.app = _unreachable
    assert [(await answer(both_rails.doors.front, asked))[0] for _ in range(2)] == [200, 200]


async def _unreachable(*_: object) -> None:
    raise AssertionError("the app was asked")
