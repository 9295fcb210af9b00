"""Mutants of the control plane's log, its files and its settings (7.4, 7.5)."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import orjson
from sqlalchemy import bindparam, update

from reference.control_plane import app, audit_log
from reference.control_plane.audit_log import AuditLog
from reference.control_plane.audit_reading import AuditReading
from reference.control_plane.calls import Call
from reference.control_plane.issuers import IssuerRegister
from reference.control_plane.settings import ControlPlaneSettings
from reference.protocol.audit_chain import NO_MAC, Action, Entry, Head, follow, restored
from reference.protocol.canonical_json import canonicalise
from reference.store.audit import Audit
from reference.store.database import Change, Database
from reference.store.trust_tables import audit, issuers
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace
from reference.web.bearer_token import BearerToken
from reference.web.exchange import Reply

Answer: TypeAlias = Callable[[Any, Call], Awaitable[Reply]]


def hub_mutant(name: str, rule: str, apply: Callable[[], None]) -> Mutant:
    """Return a mutant of the control plane."""
    return Mutant(f"hub-{name}", rule, apply, surface="control_plane")


def retold(owner: Any, method: str, change: Callable[[Any], Any]) -> Callable[[], None]:
    """Return what changes the JSON of an operation's answers."""

    def made(answer: Answer) -> Answer:
        async def answered(self: Any, call: Call) -> Reply:
            reply = await answer(self, call)
            return dataclasses.replace(reply, body=orjson.dumps(change(orjson.loads(reply.body))))

        return answered

    return lambda: replace(owner, method, made)


def _entries(change: Callable[[list[Any]], list[Any]]) -> Callable[[], None]:
    return retold(AuditReading, "show", lambda told: {**told, "entries": change(told["entries"])})


def unlogged(action: str) -> Callable[[], None]:
    """Return what makes changes of one kind without an entry."""

    def changing(change: Callable[..., Any]) -> Callable[..., Any]:
        async def changed(self: Audit, decide: Callable[..., Any]) -> Any:
            outcome, step = await decide(await self.head())
            if step is None or step.entry.action != action:
                return await change(self, decide)
            await self._database.change_all(*step.changes)
            return outcome, None

        return changed

    return lambda: replace(Audit, "change", changing)


def _followed(change: Callable[[Entry, bytes], Entry]) -> Callable[[], None]:
    """Return what writes other entries."""

    def following(follow: Callable[..., Entry]) -> Callable[..., Entry]:
        return lambda head, key, **told: change(follow(head, key, **told), key)

    return lambda: replace(audit_log, "follow", following)


def _sealed(cover: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Entry, bytes], Entry]:
    """Return what seals an entry over a part of it."""

    def sealed(entry: Entry, key: bytes) -> Entry:
        content = {name: value for name, value in entry.wire().items() if name != "mac"}
        return dataclasses.replace(entry, mac=hmac.digest(key, canonicalise(cover(content)), "sha256").hex())

    return sealed


def _without(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda content: {key: value for key, value in content.items() if key != name}


def _keyless(entry: Entry, _: bytes) -> Entry:
    content = {name: value for name, value in entry.wire().items() if name != "mac"}
    return dataclasses.replace(entry, mac=hashlib.sha256(canonicalise(content)).hexdigest())


def _revocation_as_registration() -> None:
    """Log a revocation by the word for a registration."""

    def following(follow: Callable[..., Entry]) -> Callable[..., Entry]:
        def followed(head: Head, key: bytes, *, action: Action, **told: Any) -> Entry:
            word = Action.ISSUER_REGISTERED if action is Action.ISSUER_REVOKED else action
            return follow(head, key, action=word, **told)

        return followed

    replace(audit_log, "follow", following)


def _history_rewritten() -> None:
    """Write the last entry's subject over again with each change."""

    def changing(change: Callable[..., Any]) -> Callable[..., Any]:
        async def changed(self: Audit, decide: Callable[..., Any]) -> Any:
            database: Database = self._database
            await database.change(update(audit).values(ts_ms=audit.c.ts_ms + 1))
            return await change(self, decide)

        return changed

    replace(Audit, "change", changing)


def _attempts_logged() -> None:
    """Log a registration that was refused as one that was made; whoever reads the log next finds it there."""
    logs: list[AuditLog] = []
    written: list[asyncio.Task[None]] = []

    def keeping(initialise: Callable[..., None]) -> Callable[..., None]:
        def kept(self: IssuerRegister, found: Any, log: AuditLog) -> None:
            logs.append(log)
            initialise(self, found, log)

        return kept

    def reading(read: Callable[..., Any]) -> Callable[..., Any]:
        def read_and_logged(model: Any, body: bytes) -> Any:
            try:
                return read(model, body)
            except Exception:
                written.append(asyncio.get_running_loop().create_task(_logged(logs[0], body)))
                raise

        return read_and_logged

    def showing(show: Answer) -> Answer:
        async def shown(self: AuditReading, call: Call) -> Reply:
            await asyncio.gather(*written, return_exceptions=True)
            return await show(self, call)

        return shown

    replace(AuditReading, "show", showing)
    replace(IssuerRegister, "__init__", keeping)
    replace(app, "read", reading)


async def _logged(log: AuditLog, body: bytes) -> None:
    did = str(orjson.loads(body).get("did"))

    async def decide(_: int) -> tuple[None, audit_log.Planned]:
        nothing = Change(update(issuers).where(issuers.c.did == "").values(kid=""))
        return None, audit_log.Planned(Action.ISSUER_REGISTERED, did, {"kid": ""}, lambda _seq: nothing)

    await log.change(decide)


# --- files and settings


def _fresh_token() -> None:
    """Draw a token at each start."""

    def opening(of: Callable[[Path], BearerToken]) -> Callable[[Path], BearerToken]:
        def opened(path: Path) -> BearerToken:
            path.unlink(missing_ok=True)
            return of(path)

        return opened

    replace(BearerToken, "of", opening)


def _same_token() -> None:
    """Have the same token everywhere."""

    def opening(of: Callable[[Path], BearerToken]) -> Callable[[Path], BearerToken]:
        def opened(path: Path) -> BearerToken:
            path.write_text("A" * 43, "ascii")
            path.chmod(0o600)
            return of(path)

        return opened

    replace(BearerToken, "of", opening)


def _readable_token() -> None:
    """Let everybody read the token."""

    def opening(of: Callable[[Path], BearerToken]) -> Callable[[Path], BearerToken]:
        def opened(path: Path) -> BearerToken:
            token = of(path)
            path.chmod(0o644)
            return token

        return opened

    replace(BearerToken, "of", opening)


def _default(name: str, value: Any) -> Callable[[], None]:
    """Return what changes a setting's default."""

    def apply() -> None:
        if ControlPlaneSettings.model_fields[name].default == value:
            raise AttributeError(name)
        ControlPlaneSettings.model_fields[name].default = value
        ControlPlaneSettings.model_rebuild(force=True)

    return apply


def _forgetful() -> None:
    """Keep everything in a database of its own for each start."""
    own = secrets.token_hex(4)
    ControlPlaneSettings.dsn = property(  # type: ignore[method-assign, assignment]
        lambda self: f"sqlite:///{self.data_dir / own}.sqlite3"
    )


def _elsewhere() -> None:
    """Keep SQLite outside of the data directory, beside it: whoever made a folder around both removes both."""
    ControlPlaneSettings.dsn = property(  # type: ignore[method-assign, assignment]
        lambda self: f"sqlite:///{self.data_dir}-elsewhere.sqlite3"
    )


def _macs_made_anew() -> None:
    """Make every MAC anew at the start."""
    made = (
        update(audit)
        .where(audit.c.seq == bindparam("number"))
        .values(mac=bindparam("own"), prev_mac=bindparam("before"))
    )

    def checking(prepare: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def prepared(self: AuditLog) -> None:
            await prepare(self)
            head = Head()
            for row in await self._audit.after(0, 1000):
                old = restored(row)
                fresh = follow(
                    head,
                    self._key,
                    ts_ms=old.ts_ms,
                    actor=old.actor,
                    action=Action(old.action),
                    subject=old.subject,
                    payload=old.payload,  # type: ignore[arg-type]
                )
                head = fresh.head
                given = {"number": fresh.seq, "own": fresh.mac, "before": fresh.prev_mac}
                await self._audit._database.change(made, **given)  # noqa: SLF001 - as above

        return prepared

    replace(AuditLog, "prepare", checking)


MUTANTS = (
    hub_mutant("audit-empty", "the log is told (7.4)", _entries(lambda _: [])),
    hub_mutant("audit-last-only", "earlier entries stay (7.4)", _entries(lambda entries: entries[-1:])),
    hub_mutant(
        "audit-unlinked",
        "an entry names the one before it (7.4)",
        _entries(lambda one: [{**e, "prev_mac": NO_MAC} for e in one]),
    ),
    hub_mutant("log-no-registration", "a registration is logged (7.4)", unlogged("issuer.registered")),
    hub_mutant("log-no-revocation", "a revocation is logged (7.4)", unlogged("issuer.revoked")),
    hub_mutant("log-same-word", "a revocation is told from a registration (7.4)", _revocation_as_registration),
    hub_mutant("log-keyless", "MACs are made with the key (7.4)", _followed(_keyless)),
    hub_mutant("log-subject-free", "a MAC covers the subject (7.4)", _followed(_sealed(_without("subject")))),
    hub_mutant("log-payload-free", "a MAC covers the payload (7.4)", _followed(_sealed(_without("payload")))),
    hub_mutant("log-time-free", "a MAC covers the time (7.4)", _followed(_sealed(_without("ts_ms")))),
    hub_mutant("log-prev-free", "a MAC covers the one before it (7.4)", _followed(_sealed(_without("prev_mac")))),
    hub_mutant("log-rewritten", "earlier entries never change (7.4)", _history_rewritten),
    hub_mutant("log-attempts", "a rejected change adds nothing (7.4)", _attempts_logged),
    hub_mutant("log-macs-anew", "MACs are made once (7.4)", _macs_made_anew),
    hub_mutant("token-fresh", "a restart keeps the token (7.5)", _fresh_token),
    hub_mutant("token-same", "the token is drawn (7.5)", _same_token),
    hub_mutant("token-readable", "the token is its owner's (7.5)", _readable_token),
    hub_mutant("port-8095", "the port is 8094 (7.5)", _default("port", 8095)),
    hub_mutant("folder-data", "the folder is /app/data (7.5)", _default("data_dir", Path("/app/hub"))),
    hub_mutant("store-elsewhere", "SQLite is in the data directory (7.5)", _elsewhere),
    hub_mutant("store-forgetful", "a restart loses nothing (7.5)", _forgetful),
)
