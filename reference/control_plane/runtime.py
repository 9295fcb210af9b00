"""One running control plane: opens its database and secrets, and assembles its parts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import cast

from reference.control_plane.app import Routes, build_app, list_operations
from reference.control_plane.audit_log import AuditLog
from reference.control_plane.audit_reading import AuditEndpoint
from reference.control_plane.head_file import HeadFile
from reference.control_plane.health_and_openapi import Documents
from reference.control_plane.health_client import HealthClient
from reference.control_plane.issuer_registration import IssuerRegister, TrustDocuments
from reference.control_plane.registration_rights import RegistrationRights
from reference.control_plane.request_guard import ControlPlaneGuard
from reference.control_plane.service_health import HealthBoard, Posture
from reference.control_plane.service_registration import ServiceRegister
from reference.control_plane.settings import ControlPlaneSettings
from reference.store.audit_log import Audit
from reference.store.database import DatabaseUnavailable, ping
from reference.store.database_url import open_database
from reference.store.issuers import Issuers
from reference.store.services import Services
from reference.store.used_key_ids import UsedKeyIds
from reference.web.clock import WpClock
from reference.web.destination_dns import AddressCheck
from reference.web.first_start import open_secret
from reference.web.http.asgi_envelope import AsgiApp, Envelope
from reference.web.http.bearer_token import BearerToken
from reference.web.http.call_records import CallRecords
from reference.web.http.detail_error_replies import render_refusal
from reference.web.http.rate import AddressLimit
from reference.web.http.rate_store import open_rate_store
from reference.web.keyring import refuse_lost
from reference.web.process.readiness import READINESS
from reference.web.process.work_limit import WorkLimit
from reference.web.settings import Misconfigured, name_setting


@asynccontextmanager
async def open_control_plane(settings: ControlPlaneSettings) -> AsyncIterator[AsgiApp]:
    """Open a control plane and close what it holds on leaving.

    Raises:
        Misconfigured: A file cannot be used, or the database cannot be asked.
    """
    async with AsyncExitStack() as exits:
        with name_setting("S2CP_DATA_DIR"):
            settings.data_dir.mkdir(parents=True, exist_ok=True)
        database = open_database(settings.dsn)
        exits.push_async_callback(database.close)
        exits.enter_context(READINESS.require("database", partial(ping, database)))
        clock = WpClock(settings.clock_offset_file)
        token, key = await _open_secrets(settings, UsedKeyIds(database), clock)
        # The age of the key file dates the empty trust set, so that its document is the same after each restart.
        began_at = int(settings.audit_key_file.stat().st_mtime)
        audit, issuers, services = Audit(database), Issuers(database), Services(database)
        log = AuditLog(audit, key, HeadFile(settings.audit_head_file), clock, is_shared=settings.is_shared)
        await _prepare(settings, log)
        # Loopback is allowed only through the networks of the setting, or in test mode (decision 0070).
        check = AddressCheck(allow_loopback=False, allowed_networks=settings.allowed_networks)
        asker = HealthClient(f"{settings.word.word}/1", check, seconds=settings.health_timeout)
        board = HealthBoard(asker, clock)
        exits.push_async_callback(board.close)
        # In the background: a long log must not delay the start, and /health reports degraded until it was checked.
        exits.push_async_callback(_cancel, asyncio.create_task(log.check_at_start()))
        routes = Routes(
            list_operations(
                Documents(settings.word, services, log),
                TrustDocuments(issuers, audit, settings.issuer_did, began_at),
                IssuerRegister(issuers, log),
                ServiceRegister(services, log, settings.allowed_networks),
                Posture(services, board, clock),
                AuditEndpoint(log),
            )
        )
        share = await exits.enter_async_context(open_rate_store(settings))
        limit = AddressLimit.bucket(settings.rate, clock, on=settings.rate_limits, shared=share("control-plane"))
        rights = RegistrationRights(token, settings.admin_registers)
        # The guard runs in the envelope, before a body is read: a flood costs no parsing.
        gate = ControlPlaneGuard(routes, token, limit, settings.proxies(), rights)
        app = cast("AsgiApp", build_app(routes, token, rights))
        yield Envelope(
            app,
            settings.body_limit,
            gate=gate,
            render_refusal=render_refusal,
            work=WorkLimit.of(settings),
            records=CallRecords.of(settings),
            proxies=settings.proxies(),
        )


async def _open_secrets(
    settings: ControlPlaneSettings, known_keys: UsedKeyIds, clock: WpClock
) -> tuple[BearerToken, bytes]:
    """Return the admin token and the chain key, made at a first start only."""
    try:
        with name_setting("S2CP_DATA_DIR"):
            await known_keys.prepare()
            name = "control plane admin token"
            refuse_lost(settings.token_file, await known_keys.ids(name), name)
            token = BearerToken.of(settings.token_file)
            await known_keys.add(name, token.id, now=clock.now())
            # Another chain key is not refused here: every entry would fail its check, so the audit shows it.
            key = await open_secret(
                known_keys, "control plane audit key", settings.audit_key_file, now=clock.now(), is_kept=False
            )
    except DatabaseUnavailable as fault:
        raise Misconfigured(f"{_setting_of(settings)}: the database cannot be asked ({fault})") from fault
    return token, key


def _setting_of(settings: ControlPlaneSettings) -> str:
    return "S2CP_DB" if settings.is_shared else "S2CP_DATA_DIR"


async def _prepare(settings: ControlPlaneSettings, log: AuditLog) -> None:
    try:
        with name_setting("S2CP_DATA_DIR"):
            await log.prepare()
    except DatabaseUnavailable as fault:
        raise Misconfigured(f"{_setting_of(settings)}: the database cannot be asked ({fault})") from fault


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
