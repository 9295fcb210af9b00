"""The runtime of a gateway: opens its database, keys and lanes, and connects its parts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast

import aiohttp

from reference.gateway.admin_api import AdminApi
from reference.gateway.app import build_app, list_operations
from reference.gateway.call_admission import Calls, Operation
from reference.gateway.checkout import Checkout
from reference.gateway.checkout.settlement_attestations import Attestor
from reference.gateway.credentials import SCOPES, Credentials, digest_of, fresh_secret
from reference.gateway.dashboard import Dashboard
from reference.gateway.documents import Documents
from reference.gateway.gateway_metrics import GatewayMetrics
from reference.gateway.idempotency import Idempotency
from reference.gateway.merchant_branding import Storefronts
from reference.gateway.network_recency import NetworkRecency
from reference.gateway.payment_links import PaymentLinks
from reference.gateway.rate_limits import Limits
from reference.gateway.receipt_verification import ReceiptVerification
from reference.gateway.received_payments import Receipts
from reference.gateway.request_guard import RequestGuard, presents_payment
from reference.gateway.resources import ResourceRecords
from reference.gateway.screening import Screening
from reference.gateway.settings import GatewaySettings
from reference.gateway.tenant_administration import TenantAdministration
from reference.gateway.webhooks import Webhooks
from reference.lanes.descriptor import LaneRules
from reference.lanes.lane import ChainUnavailable, Lane
from reference.lanes.newest_block import build_newest_block_readers
from reference.lanes.node_settings import read_node_settings
from reference.lanes.registry import open_lane
from reference.protocol.jws import sign_compact
from reference.protocol.keys import did_web
from reference.protocol.networks import NETWORKS
from reference.store.database import Database, DatabaseUnavailable, ping
from reference.store.database_url import open_database, sqlite_dsn
from reference.store.deliveries import Deliveries
from reference.store.destinations import Destinations
from reference.store.link_payments import Payments
from reference.store.links import Links
from reference.store.merchants import Merchants
from reference.store.received_payments import ReceivedPayments
from reference.store.resources import Resources
from reference.store.sessions import Sessions
from reference.store.settlement_attestations import Attestations
from reference.store.shared_values import SharedFacts
from reference.store.tenant_tables import facts
from reference.store.tenants import Tenants
from reference.store.used_key_ids import UsedKeyIds
from reference.web.chain_time import ChainTime
from reference.web.clock import WpClock
from reference.web.destination_dns import AddressCheck
from reference.web.first_start import open_secret, open_signing_key
from reference.web.http.asgi_envelope import AsgiApp, Envelope
from reference.web.http.call_records import CallRecords
from reference.web.http.metrics import offer_metrics
from reference.web.http.rate_store import Share, open_rate_store
from reference.web.http.trace_context import build_client_tracing
from reference.web.keyring import KeyFile, make_secret, refuse_lost, secret_id
from reference.web.logs import get_logger
from reference.web.process.readiness import READINESS
from reference.web.process.work_limit import WorkLimit
from reference.web.reloaded_file import ReloadedFile
from reference.web.sealing import Seal
from reference.web.settings import Misconfigured, name_setting
from reference.web.trusted_keys_file import open_trusted_keys

_log = get_logger()
# Deleting expired answers and sessions is cheap and not urgent. Old webhook events are deleted more rarely.
_TEND_SECONDS = 60.0
_RETENTION_SECONDS = 3600.0
_CHECK_SECONDS = 5.0
_CLOCK_SECONDS = 1.0


class BackgroundWork(Protocol):
    """Work that runs next to the gateway, over the same database, clock and seal, until it is cancelled.

    The dispatcher of webhooks is such work. The program passes it in, so that the gateway does not depend on it.
    """

    async def __call__(self, settings: GatewaySettings, database: Database, clock: WpClock, seal: Seal) -> None:
        """Do the work until cancelled."""


@asynccontextmanager
async def open_gateway(
    settings: GatewaySettings, background_work: Sequence[BackgroundWork] = ()
) -> AsyncIterator[AsgiApp]:
    """Open a gateway and close what it holds on leaving.

    Args:
        settings: The settings of the process.
        background_work: What runs beside it.

    Raises:
        Misconfigured: A node is of another network (P-NW-06), or a file cannot be used.
    """
    # One session for all nodes. Proxy settings of the environment are ignored (P-CV-21).
    connector = aiohttp.TCPConnector(limit=128)
    async with AsyncExitStack() as exits:
        session = await exits.enter_async_context(
            aiohttp.ClientSession(trust_env=False, connector=connector, trace_configs=[build_client_tracing()])
        )
        lanes, unchecked_lanes = await _open_lanes(settings, session)
        # A node that does not answer at the start must not keep the other networks from being served. Its network is
        # offered once the node was checked.
        if unchecked_lanes:
            exits.push_async_callback(_cancel, asyncio.create_task(_offer_checked_lanes(unchecked_lanes, lanes)))
        yield await exits.enter_async_context(open_gateway_with_lanes(settings, lanes, background_work))


@asynccontextmanager
async def open_gateway_with_lanes(
    settings: GatewaySettings, lanes: Mapping[str, Lane], background_work: Sequence[BackgroundWork] = ()
) -> AsyncIterator[AsgiApp]:
    """Open a gateway over lanes that are open already, by network key, and what runs beside it.

    Lanes that are added later are served, too.
    """
    async with AsyncExitStack() as exits:
        deps = await _open_dependencies(settings, lanes, exits)
        share = await exits.enter_async_context(open_rate_store(settings))
        parts = _build_parts(deps, share)
        by_endpoint = {operation.endpoint: operation for operation in _build_operations(deps, parts)}
        app = build_app(Calls(parts.credentials, parts.limits), by_endpoint)
        attestor = Attestor(settings, Attestations(deps.database), sign=deps.sign, did=deps.did)
        checkout = Checkout(
            *(settings, deps.clock, deps.database, lanes),
            *(deps.recency, parts.limits, attestor, parts.storefronts),
        )
        checkout.add_routes(app)
        background: list[Coroutine[Any, Any, None]] = []
        is_edge, render_refusal = settings.gateway_role == "edge", None  # an edge host has no dashboard (P-GW-04)
        if not is_edge:
            dashboard = _build_dashboard(deps, parts, attestor)
            dashboard.add_routes(app)
            render_refusal = dashboard.refusal_page
            turns = Turns(SharedFacts(deps.database, facts), deps.clock)
            clean = turns.share("clean-up", _TEND_SECONDS, parts.idempotency.forget, dashboard.forget)
            forget_events = turns.share("old events", _RETENTION_SECONDS, parts.webhooks.forget)
            background += (_repeat(clean, every=_TEND_SECONDS), checkout.watch())
            background.append(_repeat(forget_events, every=_RETENTION_SECONDS))
            background += (work(settings, deps.database, deps.clock, deps.seal) for work in background_work)
        # No page asks for money before the newest blocks of the networks are known.
        await deps.recency.refresh()
        background += (_repeat(tend, every=_CLOCK_SECONDS) for tend in (deps.chain_time.tend, deps.recency.refresh))
        for work in background:
            # The exit stack ends the tasks before it closes the database that they use.
            exits.push_async_callback(_cancel, asyncio.create_task(work))
        gate = RequestGuard(app.url_map, by_endpoint, parts.limits, edge=is_edge)
        envelope = Envelope(
            cast("AsgiApp", app),
            settings.body_limit,
            gate=gate,
            context=True,
            render_refusal=render_refusal,
            work=WorkLimit.of(settings),
            presents_payment=presents_payment,
            records=CallRecords.of(settings),
            proxies=settings.proxies(),
        )
        measures = GatewayMetrics(
            Payments(deps.database),
            deps.clock,
            lanes,
            database=deps.database,
            deliveries=Deliveries(deps.database),
            recency=deps.recency,
            calls=envelope.metrics,
        )
        # An edge host serves public reads only, so it serves no metrics at its public address (P-GW-04).
        yield await exits.enter_async_context(offer_metrics(envelope, settings, measures, is_public=not is_edge))


@dataclass(frozen=True, slots=True)
class _Dependencies:
    """The shared dependencies of the parts of one gateway: database, clock, keys and lanes."""

    settings: GatewaySettings
    database: Database
    clock: WpClock
    chain_time: ChainTime
    lanes: Mapping[str, Lane]
    recency: NetworkRecency
    tenants: Tenants
    keyring: KeyFile
    seal: Seal
    trusted_keys: ReloadedFile[tuple[Mapping[str, Any], ...]]

    @property
    def did(self) -> str:
        return did_web(self.settings.public_url)

    def faults(self) -> list[str]:
        return [*(keys.fault for keys in (self.keyring, self.trusted_keys) if keys.fault), *self.recency.faults()]

    def platform_keys(self) -> list[Mapping[str, Any]]:
        return [*(key.jwk() for key in self.keyring().published_keys), *self.trusted_keys()]

    def sign(self, claims: Mapping[str, Any]) -> str:
        return sign_compact(claims, self.keyring().active)


async def _open_dependencies(
    settings: GatewaySettings, lanes: Mapping[str, Lane], exits: AsyncExitStack
) -> _Dependencies:
    """Open the database, and create the keys and the first administrator at a first start."""
    database = open_database(database_dsn(settings))
    exits.push_async_callback(database.close)
    exits.enter_context(READINESS.require("database", partial(ping, database)))
    clock = WpClock(settings.clock_offset_file)
    chain_time = ChainTime(
        clock, lambda: build_newest_block_readers(lanes), SharedFacts(database, facts), strict=settings.mode == "live"
    )
    tenants, used_key_ids = Tenants(database), UsedKeyIds(database)
    links = Links(database, settings.word)
    tables = (tenants, links, Destinations(database), Sessions(database), Merchants(database), used_key_ids)
    # The tables come before the keys: the database knows which keys were used, which distinguishes a lost key file from
    # a first start (P-KY-01). A new key in place of a lost one would leave sealed secrets unreadable.
    await _prepare(tables, chain_time)
    keyring = KeyFile(settings.signing_key_file, clock, settings.retired_key_days)
    with name_setting("WP_GATEWAY_SIGNING_KEY_FILE"):
        await open_signing_key(used_key_ids, "gateway", keyring)
    with name_setting("WP_GATEWAY_DATA_DIR"):
        seal = Seal(await open_secret(used_key_ids, "gateway seal key", settings.seal_key_file, now=clock.now()))
        await _admit_first(settings, tenants, used_key_ids, clock)
    with name_setting("WP_GATEWAY_TRUSTED_JWKS"):
        trusted_keys = open_trusted_keys(settings.gateway_trusted_jwks)
    recency = NetworkRecency(lanes, settings.gateway_node_behind_seconds)
    return _Dependencies(settings, database, clock, chain_time, lanes, recency, tenants, keyring, seal, trusted_keys)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts that the API and the dashboard share."""

    limits: Limits
    idempotency: Idempotency
    webhooks: Webhooks
    tenancy: TenantAdministration
    credentials: Credentials
    storefronts: Storefronts
    links: PaymentLinks


def _build_parts(deps: _Dependencies, share: Share) -> _Parts:
    settings, database, clock, lanes = (
        deps.settings,
        deps.database,
        deps.clock,
        deps.lanes,
    )
    limits = Limits(settings, clock, share)
    idempotency = Idempotency(
        database, deps.seal, clock, window=settings.idempotency_ttl, wait=settings.idempotency_wait
    )
    check = AddressCheck(allow_loopback=settings.loopback_webhooks)
    webhooks = Webhooks(
        settings,
        clock,
        deps.tenants,
        Destinations(database),
        Deliveries(database),
        seal=deps.seal,
        check=check,
    )
    links = Links(database, settings.word)
    tenancy = TenantAdministration(settings, clock, deps.tenants, links, Payments(database), lanes, webhooks)
    storefronts = Storefronts(settings, Merchants(database))
    payment_links = PaymentLinks(settings, clock, deps.tenants, links, idempotency, lanes, storefronts)
    return _Parts(limits, idempotency, webhooks, tenancy, Credentials(deps.tenants, clock), storefronts, payment_links)


def _build_operations(deps: _Dependencies, parts: _Parts) -> Sequence[Operation]:
    settings, clock, keyring = deps.settings, deps.clock, deps.keyring
    return list_operations(
        parts.links,
        ResourceRecords(clock, Resources(deps.database), parts.idempotency),
        ReceiptVerification(deps.platform_keys),
        Screening(clock, keyring, did=deps.did, jurisdiction_flags=settings.jurisdiction_flags),
        Documents(deps.did, keyring, deps.tenants.ping, clock, faults=deps.faults),
        AdminApi(parts.tenancy, parts.webhooks, parts.idempotency),
    )


def _build_dashboard(deps: _Dependencies, parts: _Parts, attestor: Attestor) -> Dashboard:
    settings, clock, database = deps.settings, deps.clock, deps.database
    receipts = Receipts(settings, clock, ReceivedPayments(database), attestor, deps.platform_keys)
    parts_of_screens = (parts.limits, parts.tenancy, parts.webhooks, parts.storefronts, parts.links, receipts)
    return Dashboard(settings, clock, parts.credentials, Sessions(database), *parts_of_screens)


class _Tables(Protocol):
    async def prepare(self) -> None: ...


async def _prepare(stores: Sequence[_Tables], chain_time: ChainTime) -> None:
    """Create the missing tables, and start the clock."""
    try:
        for tables in stores:
            await tables.prepare()
        await chain_time.begin()
    except DatabaseUnavailable as fault:
        raise Misconfigured(f"WP_GATEWAY_DB: the database cannot be asked ({fault})") from fault


async def new_admin_key(settings: GatewaySettings, scopes: Sequence[str]) -> str:
    """Create an administrator's key with scopes, and return its text, which is stored nowhere.

    Raises:
        DatabaseUnavailable: It was not made.
    """
    database = open_database(database_dsn(settings))
    try:
        tenants = Tenants(database)
        await tenants.prepare()
        key = fresh_secret(f"{settings.prefix}c_")
        await tenants.admit(digest_of(key), scopes, now=WpClock(settings.clock_offset_file).now())
    finally:
        await database.close()
    return key


async def _admit_first(settings: GatewaySettings, tenants: Tenants, used_key_ids: UsedKeyIds, clock: WpClock) -> None:
    """Ensure that the first administrator's key is in its file and accepted. An edge host has none."""
    if settings.gateway_role == "edge":
        return
    name = "gateway admin key"
    refuse_lost(settings.admin_key_file, await used_key_ids.ids(name), name)
    if not settings.admin_key_file.exists():
        # The file has mode 0600. The first administrator reads the key there, as nothing else can create one (3.9).
        make_secret(settings.admin_key_file, fresh_secret(f"{settings.prefix}c_").encode())
    key = settings.admin_key_file.read_text("ascii").strip()
    # Inserted only if it is missing, so a key that the operator has put into the file is accepted as well.
    await tenants.admit(digest_of(key), SCOPES, now=clock.now())
    await used_key_ids.add(name, secret_id(key.encode()), now=clock.now())


def database_dsn(settings: GatewaySettings) -> str:
    """Return the address of a gateway's database. The folder of a SQLite file is created."""
    if settings.gateway_db:
        return settings.gateway_db
    with name_setting("WP_GATEWAY_DATA_DIR"):
        settings.gateway_data_dir.mkdir(parents=True, exist_ok=True)
    return sqlite_dsn(settings.gateway_data_dir / "gateway.sqlite3")


async def _open_lanes(
    settings: GatewaySettings, session: aiohttp.ClientSession
) -> tuple[dict[str, Lane], dict[str, Lane]]:
    """Return the offered lanes, in the order of the network table, and the lanes whose node did not answer."""
    rules = LaneRules(
        settings.word,
        settings.evm_confirmations,
        settings.solana_commitment,
        reads_calldata=settings.evm_suffix_bind,
    )
    lanes: dict[str, Lane] = {}
    unchecked_lanes: dict[str, Lane] = {}
    for key, network in NETWORKS.items():
        nodes = read_node_settings(network)
        lane = open_lane(session, network, nodes, rules) if nodes.node else None
        if lane is not None:
            (lanes if settings.mode == "test" or await _is_of_its_network(lane) else unchecked_lanes)[key] = lane
    return lanes, unchecked_lanes


async def _is_of_its_network(lane: Lane) -> bool:
    key = lane.facts.network.key
    try:
        if not await lane.check_node():
            # A node of mainnet behind a test network would take payments of real money as test payments.
            raise Misconfigured(f"WP_NODE_{key.upper()}: the node is of another network")
    except ChainUnavailable:
        _log.warning("network_not_offered", network=key, reason="its node does not answer")
        return False
    return True


async def _offer_checked_lanes(unchecked_lanes: dict[str, Lane], lanes: dict[str, Lane]) -> None:
    """Offer networks once their nodes were checked (P-NW-06). A node of another network is never used."""
    while unchecked_lanes:
        await asyncio.sleep(_CHECK_SECONDS)
        for key, lane in list(unchecked_lanes.items()):
            with suppress(ChainUnavailable):
                is_right = await lane.check_node()
                del unchecked_lanes[key]
                if is_right:
                    # The mapping is shared with the checkout and the list of networks, so the network is offered from
                    # this moment on.
                    lanes[key] = lane
                _log.warning("network_checked", network=key, offered=is_right)


@dataclass(frozen=True, slots=True)
class Turns:
    """Work that one worker of a gateway does in each interval, whichever comes first.

    Attributes:
        facts: The facts of all workers.
        clock: The service's clock.
    """

    facts: SharedFacts
    clock: WpClock

    def share(self, work: str, seconds: float, *tasks: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        """Return tasks as one, which runs them only if this worker takes the turn."""

        async def run_in_turn() -> None:
            # In doubt this is 0. Nothing has certainly expired then, so there is nothing to delete.
            now = self.clock.lapsed_until()
            if now and await self.facts.take_turn(work, now=now, seconds=int(seconds)):
                for task in tasks:
                    await task()

        return run_in_turn


async def _repeat(task: Callable[[], Awaitable[None]], *, every: float) -> None:
    """Run a task at an interval until cancelled. If the database is unavailable, the next round tries again."""
    while True:
        with suppress(DatabaseUnavailable):
            await task()
        await asyncio.sleep(every)


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
