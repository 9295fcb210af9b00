"""Two workers of a rail without processes: a scripted lane, and a real ledger."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from sqlalchemy import delete

from reference.lanes.algorand.finder import AlgorandFinder
from reference.lanes.algorand.lane import AlgorandLane
from reference.lanes.payment_search import Head
from reference.protocol.challenge import Mint, Terms
from reference.protocol.keys import SigningKey
from reference.protocol.networks import NETWORKS
from reference.protocol.observed_transaction import ABSENT, ObservedTransaction, Transfer, TxStatus
from reference.protocol.payment_proof import MinedProof
from reference.protocol.refusals import PaymentRefused
from reference.rail.availability.lane_health import LaneHealth
from reference.rail.challenges import Call
from reference.rail.claims.fulfilment import PaidAnswer
from reference.rail.claims.prepared_answer import PreparedAnswer
from reference.rail.claims.presented_proofs import MinedPaymentSource
from reference.rail.claims.redemption import Redeemer
from reference.rail.claims.refused_payment_notes import RefusalNotes
from reference.rail.claims.undecided_claims import UndecidedClaims
from reference.rail.housekeeping import Housekeeping
from reference.rail.services import SERVICES, Service
from reference.rail.settings import RailSettings
from reference.rail.signed_answers import Signer
from reference.store.database import Database
from reference.store.database_url import open_database
from reference.store.rail_tables import facts
from reference.store.redemption_rows import Redemption
from reference.store.redemptions import Redemptions
from reference.store.refused_payments import RefusedPayments
from reference.store.shared_values import SharedFacts
from reference.store.terms_history import Generations
from reference.web.clock import WpClock
from reference.web.errors import Refused
from reference.web.keyring import Keyring

NETWORK = NETWORKS["algorand_mainnet"]
TERMS = Terms(NETWORK.key, NETWORK.caip2, NETWORK.asset_id, "10000", "PAYEE")
SERVICE = SERVICES["/pay/v1/verify/receipt"]
BODY = {"jws": "e30.e30.AA"}
KEY = SigningKey.from_seed(bytes(32))
# It is renewed every second; that a worker is held up for two must not look like its death.
LEASE_SECONDS = 3.0


def tx_id(number: int) -> str:
    """Return the canonical id of the `number`-th transaction."""
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number] + "A" * 51


class ScriptedFinder(AlgorandFinder):
    """Tells how far the node is: its newest block is `age` seconds old."""

    def __init__(self) -> None:
        super().__init__(NETWORK, None, None)  # type: ignore[arg-type]
        self.age = 0

    async def read_head(self) -> Head:
        """Return the newest block."""
        return Head(1, 1, int(time.time()) - self.age)


class ScriptedLane(AlgorandLane):
    """The Algorand lane with a node of our own: it shows what the test put there, after what the test makes happen."""

    def __init__(self) -> None:
        super().__init__(NETWORK, None, None)  # type: ignore[arg-type]
        self.finder = self.told = ScriptedFinder()
        self.shown: dict[str, ObservedTransaction] = {}
        self.before: Callable[[], Awaitable[None]] | None = None
        self.looks: list[str] = []

    async def observe(self, tx_id: str) -> ObservedTransaction:
        """Return what the test put there."""
        self.looks.append(tx_id)
        happening, self.before = self.before, None
        if happening is not None:
            await happening()
        return self.shown.get(tx_id, ABSENT)

    def pay(self, number: int, token: str) -> None:
        """Show a good payment of a token."""
        self.shown[tx_id(number)] = ObservedTransaction(
            TxStatus.CONFIRMED,
            final=True,
            block_time=WpClock().now(),
            sender="PAYER",
            note=token.encode(),
            transfers=(Transfer(0, TERMS.asset, "PAYER", TERMS.pay_to, int(TERMS.amount)),),
        )


@dataclass
class Bench:
    """Two workers on one ledger."""

    lane: ScriptedLane
    ledger: Redemptions
    database: Database
    settings: RailSettings
    signer: Signer
    workers: list[Redeemer] = field(default_factory=list)

    def token(self) -> str:
        """Return a fresh token for the request of these tests."""
        request = Call.of(SERVICE, BODY, "").request_hash
        now = WpClock().now()
        return MINT.token(TERMS, service_id=SERVICE.id, request_hash=request, unix=now, nonce=next(NONCES))

    async def redeem(self, number: int, token: str, *, worker: int = 0, service: Service = SERVICE) -> PaidAnswer:
        """Present the `number`-th transaction with a token to a worker."""
        redeemer = self.workers[worker]
        answer = await redeemer.present(MinedProof(tx_id(number), token, None))
        call = replace(Call.of(SERVICE, BODY, ""), service=service)
        return await redeemer.redeem(answer, call, SERVICE.parse_request(dict(BODY)))

    async def refusal(self, number: int, token: str, **context: Any) -> str:
        """Present, and return the code of the refusal."""
        try:
            await self.redeem(number, token, **context)
        except (PaymentRefused, Refused) as refusal:
            return refusal.code
        pytest.fail("it was served")

    async def tend(self) -> None:
        """Do what is done besides calls."""
        lanes = {NETWORK.key: self.lane}
        collectors = {NETWORK.key: MinedPaymentSource(self.settings, self.lane)}
        clock = WpClock()
        lane_health = LaneHealth(self.settings, lanes, clock)
        refused = RefusedPayments(self.database)
        notes = RefusalNotes(collectors, clock, refused, lane_health)
        await UndecidedClaims(self.settings, clock, collectors, self.ledger, notes, worker="tender").tend([NETWORK.key])
        # Each call of this is a round of its own, although no interval passes in between.
        turns = SharedFacts(self.database, facts)
        await self.database.change(delete(facts).where(facts.c.name.like("turn of %")))
        parts = collectors, self.ledger, self.signer, lane_health, refused, turns
        await Housekeeping(self.settings, clock, *parts).tend()

    async def row(self, number: int, token: str) -> Redemption | None:
        """Return the row of a transaction and a token."""
        rows = await self.ledger.find_involved(token, f"{NETWORK.caip2}|{tx_id(number)}")
        return next((row for row in rows if (row.tx_id, row.token) == (tx_id(number), token)), None)


def seen_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each payment be found when the second of its rehearsal is over: it is marked as paid, then answered."""
    monkeypatch.setattr(PreparedAnswer, "answers", lambda *_: False)


MINT = Mint(bytes(32), RailSettings().word)
NONCES = (number.to_bytes(8, "big") for number in range(10**6))


@asynccontextmanager
async def opened_bench(dsn: str) -> AsyncIterator[Bench]:
    """Open two workers on a database, and a chain that shows nothing yet."""
    settings = RailSettings(
        rail_lease_seconds=LEASE_SECONDS,
        rail_join_wait=30,
        rail_confirm_wait=0,
        rail_payto={"algorand": TERMS.pay_to},
    )
    database = open_database(dsn)
    ledger, generations, lane = Redemptions(database), Generations(database), ScriptedLane()
    await ledger.prepare()
    await generations.put_in_force({SERVICE.id: (TERMS,)}, now=0)
    signer = Signer(
        settings,
        WpClock(),
        lambda: Keyring(KEY, (KEY.public,)),
        did="did:web:localhost",
        platform_keys=lambda _: (KEY.public.jwk(),),
    )
    made = Bench(lane, ledger, database, settings, signer)
    collectors = {NETWORK.key: MinedPaymentSource(settings, lane)}
    for _ in range(2):
        made.workers.append(
            Redeemer(
                settings,
                WpClock(),
                MINT,
                collectors,
                ledger,
                generations,
                signer,
                RefusalNotes(collectors, WpClock(), RefusedPayments(database)),
                worker=str(uuid.uuid4()),
            )
        )
    yield made
    await database.close()
