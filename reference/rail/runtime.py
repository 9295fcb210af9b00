"""One running rail: opens its database, keys and lanes, and assembles its parts."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import cast

import aiohttp

from reference.lanes.descriptor import LaneRules
from reference.lanes.lane import ChainUnavailable, Lane, ObservingLane, Settler, SettlingLane
from reference.lanes.newest_block import build_newest_block_readers
from reference.lanes.node_settings import read_node_settings
from reference.lanes.registry import descriptor_of, open_lane
from reference.protocol.challenge import Mint, Terms
from reference.protocol.keys import did_web
from reference.protocol.networks import NETWORKS
from reference.rail import shared_token_secret
from reference.rail.a2a.conversation import Conversation
from reference.rail.a2a.endpoint import A2aEndpoint, RailTasks
from reference.rail.app import build_app
from reference.rail.availability.issuing_permission import IssuingPermission
from reference.rail.availability.lane_health import LaneHealth
from reference.rail.availability.worker_downtime import Uptime
from reference.rail.challenges import Challenges, Offer
from reference.rail.claims.presented_proofs import Collector, MinedPaymentSource
from reference.rail.claims.redemption import Redeemer
from reference.rail.claims.refused_payment_notes import RefusalNotes
from reference.rail.claims.undecided_claims import UndecidedClaims
from reference.rail.documents.published import Documents
from reference.rail.housekeeping import Housekeeping
from reference.rail.keys import RailKeys, build_signer, open_signing_keys
from reference.rail.operator_metrics import RailMeasures
from reference.rail.paid_endpoint import PaidEndpoint, presents_payment
from reference.rail.paid_fast_path import PaidFastPath
from reference.rail.periodic import Rounds
from reference.rail.services import SERVICES
from reference.rail.settings import RailSettings
from reference.rail.settlement.settler import SettlingPaymentSource
from reference.store.a2a_tasks import Tasks
from reference.store.database import Database, DatabaseUnavailable, ping
from reference.store.database_url import open_database, sqlite_dsn
from reference.store.rail_tables import facts
from reference.store.redemptions import Redemptions
from reference.store.refused_payments import RefusedPayments
from reference.store.service_outages import Outages
from reference.store.settlements import Settlements
from reference.store.shared_values import SharedFacts
from reference.store.terms_history import Generations
from reference.store.unserved_payments import UnservedPayments
from reference.store.used_key_ids import UsedKeyIds
from reference.web.chain_time import ChainTime
from reference.web.clock import WpClock
from reference.web.first_start import open_secret
from reference.web.http.asgi_envelope import AsgiApp, Envelope
from reference.web.http.call_records import CallRecords
from reference.web.http.metrics import offer_metrics
from reference.web.http.quart_calls import list_paths
from reference.web.http.rate import AddressLimit
from reference.web.http.rate_store import Share, open_rate_store
from reference.web.http.trace_context import build_client_tracing
from reference.web.keyring import secret_bytes
from reference.web.logs import get_logger
from reference.web.process.readiness import READINESS
from reference.web.process.work_limit import WorkLimit
from reference.web.settings import Misconfigured, name_setting

Duty = Callable[[], Awaitable[None]]

_log = get_logger()
_TEND_SECONDS = 1.0
_EXPOSED_HEADERS = "PAYMENT-REQUIRED, PAYMENT-RESPONSE, Retry-After, X-Request-Id, Idempotent-Replayed"
CORS = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": _EXPOSED_HEADERS}
PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "content-type, x-payment, payment-signature, x-a2a-extensions",
    "Access-Control-Max-Age": "600",
}


@asynccontextmanager
async def open_rail(settings: RailSettings) -> AsyncIterator[AsgiApp]:
    """Open a rail and close what it holds on leaving.

    Raises:
        Misconfigured: No lane can be offered, or a node is of another network (P-NW-06).
    """
    # One pool for all nodes. The limit bounds open descriptors, not calls: further calls wait for a connection.
    connector = aiohttp.TCPConnector(limit=128)
    async with AsyncExitStack() as exits:
        # No proxy from the environment: a proxy that answers for a node could report payments that do not exist.
        session = await exits.enter_async_context(
            aiohttp.ClientSession(trust_env=False, connector=connector, trace_configs=[build_client_tracing()])
        )
        lanes, unchecked_lanes = await _open_lanes(settings, session)
        yield await exits.enter_async_context(
            open_rail_with_lanes(settings, lanes, watch_nodes=True, unchecked_lanes=unchecked_lanes)
        )


@asynccontextmanager
async def open_rail_with_lanes(
    settings: RailSettings, lanes: Mapping[str, Lane], *, watch_nodes: bool = False, unchecked_lanes: Sequence[str] = ()
) -> AsyncIterator[AsgiApp]:
    """Open a rail over lanes that are open already, by network key in the order in which they are offered.

    Args:
        settings: Settings of the process.
        lanes: The lanes.
        watch_nodes: Whether nodes are checked regularly, and lanes offered only while theirs answer.
        unchecked_lanes: Lanes whose nodes did not answer at the start.
    """
    async with AsyncExitStack() as exits:
        deps = await _open_dependencies(settings, lanes, exits)
        absences = Outages(deps.database)
        lane_health = LaneHealth(
            settings, lanes, deps.clock, absences if watch_nodes else None, unchecked_lanes=unchecked_lanes
        )
        refused_payments = RefusedPayments(deps.database)
        notes = RefusalNotes(deps.collectors, deps.clock, refused_payments, lane_health)
        redeemer = _build_redeemer(deps, notes, lane_health, absences)
        # Registered before the background tasks, so it runs after them: work that is interrupted can still write to the
        # database.
        exits.push_async_callback(redeemer.finish)
        tasks = RailTasks(Tasks(deps.database), deps.clock)
        upkeep = Housekeeping(
            settings,
            deps.clock,
            deps.collectors,
            deps.ledger,
            redeemer.signer,
            lane_health,
            refused_payments,
            SharedFacts(deps.database, facts),
        )
        undecided_claims = UndecidedClaims(
            settings,
            deps.clock,
            deps.collectors,
            deps.ledger,
            notes,
            worker=deps.worker,
        )
        duties = _list_duties(deps, lane_health, upkeep, undecided_claims, tasks)
        if watch_nodes:
            uptime = Uptime(settings, deps.clock, absences)
            await uptime.begin()
            # No challenge is issued before the chains' newest blocks are known (decision 0083).
            await lane_health.tend()
            duties += [(lane_health.tend,), (uptime.tend,)]
        # All duties share the beginning of their rounds: the process wakes once a second, and SQLite writes once.
        rounds = Rounds(_TEND_SECONDS)
        for sequence in duties:
            exits.push_async_callback(_cancel, asyncio.create_task(_repeat(rounds, *sequence)))
        challenges = _build_challenges(settings, deps.offers, deps.mint, lane_health)
        share = await exits.enter_async_context(open_rate_store(settings))
        paid_endpoint = _build_paid_endpoint(settings, challenges, redeemer, deps.clock, deps.issuing_permission, share)
        conversation = Conversation(paid_endpoint, challenges.values(), uri=settings.a2a_x402_uri)
        a2a = A2aEndpoint(paid_endpoint, conversation, tasks, deps.clock, uri=settings.a2a_x402_uri)
        documents = _build_documents(deps, challenges, lane_health)
        documents.listed_since = await _agree_on_listing(documents, SharedFacts(deps.database, facts))
        app = build_app(paid_endpoint, a2a, documents)
        settlements = Settlements(deps.database)
        # The fast path is inside the envelope: limits of size, request ids and CORS hold for every call (P-CV-10,
        # P-CH-09).
        envelope = Envelope(
            PaidFastPath(cast("AsgiApp", app), paid_endpoint),
            settings.body_limit,
            CORS,
            PREFLIGHT,
            work=WorkLimit.of(settings),
            presents_payment=presents_payment,
            records=CallRecords.of(settings),
            routes=list_paths(app),
            proxies=settings.proxies(),
        )
        measures = RailMeasures(
            UnservedPayments(deps.database),
            settlements,
            lane_health,
            deps.clock,
            list(lanes),
            database=deps.database,
            ledger=deps.ledger,
            calls=envelope.metrics,
        )
        yield await exits.enter_async_context(offer_metrics(envelope, settings, measures))


@dataclass(frozen=True, slots=True)
class _Dependencies:
    """The database, clock, keys and lanes that the parts of one rail share.

    Attributes:
        offers: By service, what it is sold for on each lane.
        collectors: By lane, how a payment is verified, or settled.
        worker: The name of this process among those of one database.
    """

    settings: RailSettings
    database: Database
    clock: WpClock
    chain_time: ChainTime
    ledger: Redemptions
    generations: Generations
    issuing_permission: IssuingPermission
    mint: Mint
    keys: RailKeys
    offers: Mapping[str, tuple[Offer, ...]]
    collectors: Mapping[str, Collector]
    worker: str

    async def alive(self) -> None:
        await self.ledger.ping()
        self.issuing_permission.refuse_issuing()


async def _open_dependencies(settings: RailSettings, lanes: Mapping[str, Lane], exits: AsyncExitStack) -> _Dependencies:
    """Open the database, and make the keys at a first start."""
    database = open_database(locate_ledger(settings))
    # Opened first and so closed last: everything else may write until it has ended.
    exits.push_async_callback(database.close)
    exits.enter_context(READINESS.require("database", partial(ping, database)))
    clock = WpClock(settings.clock_offset_file)
    ledger, generations, known_keys = Redemptions(database), Generations(database), UsedKeyIds(database)
    shared_facts = SharedFacts(database, facts)
    offers = _build_offers(settings, lanes)
    terms = {service_id: tuple(offer.terms for offer in some) for service_id, some in offers.items()}
    issuing_permission = IssuingPermission(generations, terms, clock)
    # In live mode a wrong clock costs payers money, so chains that give no evidence are waited for without end
    # (decision 0043).
    chain_time = ChainTime(
        clock, lambda: build_newest_block_readers(lanes), shared_facts, strict=settings.mode == "live"
    )
    try:
        await ledger.prepare()
        mint = await _open_mint(settings, known_keys, shared_facts, clock)
        await chain_time.begin()
        # The terms are put in force before the first challenge: a token is redeemed by the terms of its time (P-CH-13).
        await issuing_permission.tend()
    except DatabaseUnavailable as fault:
        raise Misconfigured(f"WP_RAIL_DB: the database cannot be asked ({fault})") from fault
    keys = await open_signing_keys(settings, known_keys, clock)
    # A new name for each process: a lease of a worker that crashed is never taken for one of its successor.
    worker = str(uuid.uuid4())
    collectors = _build_collectors(settings, clock, lanes, ledger, Settlements(database), worker=worker)
    return _Dependencies(
        settings,
        database,
        clock,
        chain_time,
        ledger,
        generations,
        issuing_permission,
        mint,
        keys,
        offers,
        collectors,
        worker,
    )


def _build_collectors(
    settings: RailSettings,
    clock: WpClock,
    lanes: Mapping[str, Lane],
    ledger: Redemptions,
    settlements: Settlements,
    *,
    worker: str,
) -> dict[str, Collector]:
    return {
        # The payer sends the transaction on lanes that only observe. On lanes that settle the rail sends it (P-LN-03).
        key: MinedPaymentSource(settings, lane)
        if isinstance(lane, ObservingLane)
        else SettlingPaymentSource(
            settings, clock, lane, _open_settler(settings, lane), ledger, settlements, worker=worker
        )
        for key, lane in lanes.items()
    }


def _build_redeemer(deps: _Dependencies, notes: RefusalNotes, lane_health: LaneHealth, absences: Outages) -> Redeemer:
    return Redeemer(
        deps.settings,
        deps.clock,
        deps.mint,
        deps.collectors,
        deps.ledger,
        deps.generations,
        build_signer(deps.settings, deps.clock, deps.keys),
        notes,
        worker=deps.worker,
        lane_health=lane_health,
        absences=absences,
    )


def _list_duties(
    deps: _Dependencies,
    lane_health: LaneHealth,
    upkeep: Housekeeping,
    undecided_claims: UndecidedClaims,
    tasks: RailTasks,
) -> list[Sequence[Duty]]:
    """Return the background duties; the duties of one entry run one after the other, entries run side by side."""
    return [
        (upkeep.tend,),
        (tasks.tend,),
        (deps.issuing_permission.tend,),
        (deps.chain_time.tend,),
        (lambda: undecided_claims.tend(lane_health.available_lanes),),
    ]


def _build_documents(deps: _Dependencies, challenges: Mapping[str, Challenges], lane_health: LaneHealth) -> Documents:
    return Documents(
        deps.settings,
        did_web(deps.settings.public_url),
        list(challenges.values()),
        deps.keys.key_file,
        deps.alive,
        faults=deps.keys.faults,
        unavailable_lanes=lambda: lane_health.unavailable_lanes,
    )


async def _agree_on_listing(documents: Documents, shared_facts: SharedFacts) -> str:
    """Return since when the listing of services is as it is.

    All workers with the same listing return the same time, also after a restart. Otherwise a client that asks two
    workers would see a change each time.
    """
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return await shared_facts.agree(f"listing {documents.hash_listing()}", now)


def locate_ledger(settings: RailSettings) -> str:
    """Return the address of the database.

    Raises:
        Misconfigured: The folder of its file cannot be made.
    """
    if settings.rail_db:
        return settings.rail_db
    with name_setting("WP_RAIL_DATA_DIR"):
        settings.rail_data_dir.mkdir(parents=True, exist_ok=True)
    return sqlite_dsn(settings.rail_data_dir / "rail.sqlite3")


async def _open_lanes(settings: RailSettings, session: aiohttp.ClientSession) -> tuple[dict[str, Lane], list[str]]:
    """Return the lanes that have a node and a payee, in the order of the setting, and which nodes did not answer."""
    rules = LaneRules(settings.word, settings.evm_confirmations, settings.solana_commitment)
    lanes: dict[str, Lane] = {}
    unchecked_lanes: list[str] = []
    for key in settings.rail_lanes:
        network = NETWORKS[key]
        nodes = read_node_settings(network)
        lane = open_lane(session, network, nodes, rules) if nodes.node and settings.pay_to(network) else None
        # A lane on which the rail must settle is useless without an account. It is left out with a warning, as a lane
        # without a node is (P-CH-03).
        if lane is not None and not isinstance(lane, ObservingLane) and settings.rail_settler_key_file is None:
            _log.warning("lane_not_offered", network=key, reason="WP_RAIL_SETTLER_KEY_FILE is not set")
            lane = None
        if lane is not None and not lane.is_address(settings.pay_to(network)):
            raise Misconfigured(f"WP_RAIL_PAYTO_{key.partition('_')[0].upper()}: not an address of {key}")
        if lane is not None:
            lanes[key] = lane
            # P-NW-06: in live mode a node of another network must not start. Test mode runs against simulators with ids
            # of their own.
            if settings.mode != "test" and not await _is_of_its_network(lane):
                unchecked_lanes.append(key)
    if not lanes:
        raise Misconfigured("WP_RAIL_LANES: no lane has a node (WP_NODE_<KEY>) and a payee (WP_RAIL_PAYTO_<CHAIN>)")
    return lanes, unchecked_lanes


def _open_settler(settings: RailSettings, lane: SettlingLane) -> Settler:
    descriptor = descriptor_of(lane.facts.network)
    assert descriptor is not None  # noqa: S101 - it opened the lane
    with name_setting("WP_RAIL_SETTLER_KEY_FILE"):
        return descriptor.settler(settings.rail_settler_key_file or Path())


async def _is_of_its_network(lane: Lane) -> bool:
    key = lane.facts.network.key
    try:
        if not await lane.check_node():
            raise Misconfigured(f"WP_NODE_{key.upper()}: the node is of another network")
    except ChainUnavailable:
        # A node that is down at the start does not keep the rail from starting: LaneHealth offers its lane when it
        # answers.
        _log.warning("lane_not_offered", network=key, reason="its node did not answer; it is offered when it does")
        return False
    return True


def _build_offers(settings: RailSettings, lanes: Mapping[str, Lane]) -> dict[str, tuple[Offer, ...]]:
    return {
        service.id: tuple(
            Offer(lane, Terms(key, network.caip2, network.asset_id, str(settings.price(service.id)), payee))
            for key, lane in lanes.items()
            for network in (NETWORKS[key],)
            for payee in (settings.pay_to(network),)
        )
        for service in SERVICES.values()
    }


def _build_challenges(
    settings: RailSettings, offers: Mapping[str, tuple[Offer, ...]], mint: Mint, lane_health: LaneHealth
) -> dict[str, Challenges]:
    return {
        path: Challenges(
            service,
            offers[service.id],
            mint,
            public_url=settings.public_url,
            scheme=settings.rail_scheme,
            ttl=settings.challenge_ttl,
            available_lanes=lambda: lane_health.available_lanes,
        )
        for path, service in SERVICES.items()
    }


async def _open_mint(settings: RailSettings, known_keys: UsedKeyIds, shared_facts: SharedFacts, clock: WpClock) -> Mint:
    """Return the maker of tokens. All workers share its secret, which is made at a first start only."""
    await known_keys.prepare()
    with name_setting("WP_RAIL_TOKEN_SECRET_FILE"):
        place, name = settings.token_secret_file, "rail token secret"
        # `agree` decides whether it may differ from the one before.
        secret = await open_secret(known_keys, name, place, now=clock.now(), is_kept=False)
    await shared_token_secret.agree(shared_facts, secret, settings.word)
    return Mint(secret, settings.word)


async def adopt_token_secret(settings: RailSettings) -> None:
    """Record this rail's token secret and service word as those of its database.

    Raises:
        DatabaseUnavailable: They were not recorded.
        Misconfigured: There is no secret.
    """
    with name_setting("WP_RAIL_TOKEN_SECRET_FILE"):
        secret = secret_bytes(settings.token_secret_file)
    database = open_database(locate_ledger(settings))
    try:
        await Redemptions(database).prepare()
        await shared_token_secret.adopt(SharedFacts(database, facts), secret, settings.word)
    finally:
        await database.close()


def _build_paid_endpoint(
    settings: RailSettings,
    challenges: Mapping[str, Challenges],
    redeemer: Redeemer,
    clock: WpClock,
    issuing_permission: IssuingPermission,
    share: Share,
) -> PaidEndpoint:
    return PaidEndpoint(
        challenges,
        redeemer,
        clock,
        may_issue=issuing_permission.refuse_issuing,
        unpaid_limit=AddressLimit.bucket(
            settings.rail_rate, clock, on=settings.rate_limits, shared=share("rail.unpaid")
        ),
        presented_limit=AddressLimit.bucket(
            settings.rail_rate, clock, on=settings.rate_limits, shared=share("rail.presented")
        ),
        proxies=settings.proxies(),
        disabled_services=settings.rail_disabled_services,
        within=settings.answer_within,
    )


async def _repeat(rounds: Rounds, *duties: Duty) -> None:
    """Do the duties once in each round, for ever; a fault is logged, and the duty is tried again in the next round."""
    while True:
        for duty in duties:
            try:
                await duty()
            except Exception as fault:  # noqa: BLE001 - a database that is away must not end the service
                _log.error("tending_failed", kind=type(fault).__name__)
        await rounds.next()


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
