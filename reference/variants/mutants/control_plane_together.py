"""Mutants of what shows only in company: other spellings, changes at the same moment, tags, a start after an end."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import parse_qsl

import orjson
from sqlalchemy import bindparam, delete, func, insert, select, update

from reference.control_plane import asking, audit_log, issuers, posture
from reference.control_plane.app import Routes, sent_path
from reference.control_plane.asking import Finding, HealthAsker
from reference.control_plane.calls import Call, Registrant
from reference.control_plane.issuers import IssuerRegister, NewIssuer, TrustDocuments
from reference.control_plane.posture import HealthBoard
from reference.control_plane.registering import Registering
from reference.control_plane.request_guard import ControlPlaneGuard
from reference.protocol.audit_chain import NO_MAC, Action, Entry, Head, stored
from reference.store.audit import Audit
from reference.store.database import Change, DatabaseUnavailable, Missed, Taken
from reference.store.issuers import Issuer, Issuers
from reference.store.services import Services
from reference.store.trust_tables import audit, services
from reference.store.trust_tables import issuers as table
from reference.variants.mutants.control_plane_audit import Answer, hub_mutant, unlogged
from reference.variants.seams import replace
from reference.web.envelope import Scope
from reference.web.errors import Refused
from reference.web.exchange import Reply

_TRIES = 64

# --- ways round the token


def _waved_through(applies: Callable[[Scope], bool]) -> Callable[[], None]:
    """Return what asks some calls for no token, neither by their head nor by their body."""

    def judging(judge: Callable[..., Any]) -> Callable[..., Any]:
        def judged(self: object, scope: Scope, *body: bytes) -> Any:
            try:
                return judge(self, scope, *body)
            except Refused as refusal:
                if refusal.status != 401 or not applies(scope):
                    raise
                return Registrant()

        return judged

    def apply() -> None:
        replace(ControlPlaneGuard, "__call__", judging)
        replace(Registering, "judge", judging)

    return apply


def _from_home(scope: Scope) -> bool:
    return any(name == b"x-forwarded-for" and value == b"127.0.0.1" for name, value in scope["headers"])


def _tells_an_open_path(scope: Scope) -> bool:
    return any(value == "/v1/issuer-pks" for _, value in parse_qsl(scope["query_string"].decode("latin-1")))


def _guarded_as_sent() -> None:
    """Route paths in any case and with any slashes, and ask for the token by the path as it was sent."""
    _waved_through(lambda scope: re.match(r"/v1/(issuers|services|audit)", sent_path(scope)) is None)()

    def lenient(path: str) -> str:
        under = re.fullmatch(r"/+v1/+([a-z-]+)(/.*[^/])?/*", path, re.IGNORECASE)
        return path if under is None else f"/v1/{under[1].lower()}{under[2] or ''}"

    def listing(methods: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, path: methods(self, lenient(path))

    def finding(find: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, scope: find(self, {**scope, "raw_path": lenient(sent_path(scope)).encode("latin-1")})

    replace(Routes, "methods", listing)
    replace(Routes, "find", finding)


# --- changes at the same moment


def _forked() -> None:
    """Write the entry of whoever comes second as it was made: under the next number, after the same entry."""

    def changing(_: Callable[..., Any]) -> Callable[..., Any]:
        async def changed(self: Audit, decide: Callable[..., Any]) -> Any:
            head = await self.head()
            await asyncio.sleep(0.05)
            outcome, step = await decide(head)
            if step is None:
                return outcome, None
            for number in range(_TRIES):
                entry = dataclasses.replace(step.entry, seq=step.entry.seq + number)
                try:
                    await self._database.change_all(_added(entry), *step.changes)
                except (Taken, Missed):
                    continue
                return outcome, dataclasses.replace(step, entry=entry)
            raise DatabaseUnavailable("no number is free")

        return changed

    replace(Audit, "change", changing)


def _added(entry: Entry) -> Change:
    names = [column.name for column in audit.columns]
    return Change(insert(audit), dict(zip(names, stored(entry), strict=True)))


def _second_unlogged() -> None:
    """Log nothing of a change that comes while another is being made."""
    busy: list[object] = []

    def changing(change: Callable[..., Any]) -> Callable[..., Any]:
        async def changed(self: Audit, decide: Callable[..., Any]) -> Any:
            outcome, step = await decide(await self.head()) if busy else (None, None)
            if step is not None and step.entry.action.startswith("issuer."):
                await self._database.change_all(*step.changes)
                return outcome, None
            busy.append(decide)
            try:
                await asyncio.sleep(0.02)
                return await change(self, decide)
            finally:
                busy.remove(decide)

        return changed

    replace(Audit, "change", changing)


def _both_kept() -> None:
    """Name an issuer once for each registration that came at the same moment."""
    coming: dict[str, int] = {}
    twice: dict[str, str] = {}

    def registering(register: Answer) -> Answer:
        async def registered(self: IssuerRegister, call: Call) -> Reply:
            request: NewIssuer = call.content
            coming[request.did] = coming.get(request.did, 0) + 1
            try:
                await asyncio.sleep(0.05)
                if coming[request.did] > 1 and await self._issuers.get(request.did) is None:
                    twice[request.did] = request.public_key_b64
                return await register(self, call)
            finally:
                coming[request.did] -= 1

        return registered

    def showing(show: Answer) -> Answer:
        async def shown(self: TrustDocuments, call: Call) -> Reply:
            reply = await show(self, call)
            told: dict[str, str] = orjson.loads(reply.body) if reply.status == 200 else {}
            pairs = [*told.items(), *((did, key) for did, key in twice.items() if did in told)]
            written = ",".join(f"{orjson.dumps(did).decode()}:{orjson.dumps(key).decode()}" for did, key in pairs)
            return dataclasses.replace(reply, body=f"{{{written}}}".encode()) if told else reply

        return shown

    replace(IssuerRegister, "register", registering)
    replace(TrustDocuments, "trust_set", showing)


# --- tags


def _counted() -> None:
    """Make tags from the number of issuers."""

    def answering(answer: Callable[..., Any]) -> Callable[..., Any]:
        async def answered(self: TrustDocuments, call: Call, write: Callable[..., bytes]) -> Reply:
            tag = f'"{len(await self._issuers.all())}"'
            if tag in call.request.one("if-none-match"):
                return Reply(304, b"", {"ETag": tag})
            reply: Reply = await answer(self, call, write)
            return dataclasses.replace(reply, headers={**reply.headers, "ETag": tag})

        return answered

    replace(TrustDocuments, "_answer", answering)


def _one_tag() -> None:
    """Answer 304 to whoever has any tag."""

    def answering(answer: Callable[..., Any]) -> Callable[..., Any]:
        async def answered(self: TrustDocuments, call: Call, write: Callable[..., bytes]) -> Reply:
            if call.request.one("if-none-match"):
                return Reply(304, b"", {})
            reply: Reply = await answer(self, call, write)
            return reply

        return answered

    replace(TrustDocuments, "_answer", answering)


# --- issuers


def _in_any_case() -> None:
    """Look a DID up as a collation without case does."""
    like = select(table.c.did).where(func.lower(table.c.did) == bindparam("named"))

    def getting(get: Callable[..., Any]) -> Callable[..., Any]:
        async def got(self: Issuers, did: str) -> Issuer | None:
            rows = await self._database.rows(like, named=did.lower())
            found: Issuer | None = await get(self, str(rows[0][0]) if rows else did)
            return found

        return got

    def revoking(revocation: Callable[..., Change]) -> Callable[..., Change]:
        def revoked(_: Issuers, did: str) -> Change:
            gone = delete(table).where(func.lower(table.c.did) == bindparam("named"))
            return dataclasses.replace(revocation(_, did), statement=gone, values={"named": did.lower()})

        return revoked

    replace(Issuers, "get", getting)
    replace(Issuers, "revocation", revoking)


def _any_name() -> None:
    """Take any text for a DID."""
    replace(issuers, "is_did", lambda _: lambda text: isinstance(text, str))


def _revoked_unknown() -> None:
    """Log the revocation of an issuer that is not there, and refuse it then."""

    def revoking(revoke: Answer) -> Answer:
        async def revoked(self: IssuerRegister, call: Call) -> Reply:
            try:
                return await revoke(self, call)
            except Refused:
                did = call.segment.decode().replace("%3A", ":")
                nothing = Change(update(table).where(table.c.did == "").values(kid=""))

                async def decide(_: int) -> tuple[None, audit_log.Planned]:
                    return None, audit_log.Planned(Action.ISSUER_REVOKED, did, {"kid": ""}, lambda _seq: nothing)

                await self._log.change(decide)
                raise

        return revoked

    replace(IssuerRegister, "revoke", revoking)


# --- over a restart


def _hidden_only() -> None:
    """Revoke in memory only."""
    hidden: set[str] = set()

    def revoking(_: Callable[..., Change]) -> Callable[..., Change]:
        def revoked(self: Issuers, did: str) -> Change:  # noqa: ARG001 - as it is called
            hidden.add(did)
            return Change(
                update(table).where(table.c.did == bindparam("named")).values(kid=table.c.kid), {"named": did}
            )

        return revoked

    def getting(get: Callable[..., Any]) -> Callable[..., Any]:
        async def got(self: Issuers, did: str) -> Any:
            return None if did in hidden else await get(self, did)

        return got

    def listing(every: Callable[..., Any]) -> Callable[..., Any]:
        async def listed(self: Issuers) -> Sequence[Issuer]:
            return [one for one in await every(self) if one.did not in hidden]

        return listed

    def inserting(insertion: Callable[..., Change]) -> Callable[..., Change]:
        def inserted(self: Issuers, issuer: Issuer) -> Change:
            if issuer.did not in hidden:
                return insertion(self, issuer)
            hidden.discard(issuer.did)
            return self.rotation(issuer)

        return inserted

    replace(Issuers, "revocation", revoking)
    replace(Issuers, "get", getting)
    replace(Issuers, "all", listing)
    replace(Issuers, "insertion", inserting)


def _begun_anew() -> None:
    """Let the first entry of a process follow nothing, whatever is in the log."""
    first: list[bool] = []

    def following(follow: Callable[..., Entry]) -> Callable[..., Entry]:
        def followed(head: Head, key: bytes, **told: Any) -> Entry:
            begun = head if first else Head(head.seq, NO_MAC)
            first.append(True)
            return follow(begun, key, **told)

        return followed

    replace(audit_log, "follow", following)


# --- services


def _never_moved() -> None:
    """Keep the address that a service registered first."""

    def replacing(replacement: Callable[..., Change]) -> Callable[..., Change]:
        def replaced(self: Services, service: Any) -> Change:
            change = replacement(self, service)
            same = update(services).where(services.c.name == bindparam("named"))
            renewed = same.values(registered_at=bindparam("now"))
            values = {name: change.values[name] for name in ("named", "now")}
            return dataclasses.replace(change, statement=renewed, values=values)

        return replaced

    replace(Services, "replacement", replacing)


def _move_breaks() -> None:
    """Break down where a service registers again from another address."""

    def breaking(_: Callable[..., Change]) -> Callable[..., Change]:
        def broken(_: Services, service: Any) -> Change:
            raise RuntimeError(f"{service.name} is there")

        return broken

    replace(Services, "replacement", breaking)


def _client_errors_healthy() -> None:
    """Take every answer below 500 for health."""

    def asking(ask: Callable[..., Any]) -> Callable[..., Any]:
        async def asked(self: HealthAsker, address: str) -> Finding:
            finding: Finding = await ask(self, address)
            fine = finding.status is not None and finding.status < 500
            return dataclasses.replace(finding, error=None) if fine else finding

        return asked

    replace(HealthAsker, "__call__", asking)


def _one_by_one() -> None:
    """Ask one service after the other, each for its two seconds."""

    def looking(_: Callable[..., Any]) -> Callable[..., Any]:
        async def looked(self: HealthBoard, addresses: Sequence[str]) -> Any:
            return {one: await self._task(one) for one in dict.fromkeys(addresses)}

        return looked

    replace(HealthBoard, "look", looking)


def _each_read_bounded() -> None:
    """Give each read of a health answer two seconds, and the whole of it all the time there is."""

    class Reading:
        def __init__(self, reader: asyncio.StreamReader) -> None:
            self._reader = reader

        async def read(self, most: int) -> bytes:
            async with asyncio.timeout(2):
                return await self._reader.read(most)

    def answering(answered: Callable[..., Any]) -> Callable[..., Any]:
        return lambda http, reader: answered(http, Reading(reader))

    def made(initialise: Callable[..., None]) -> Callable[..., None]:
        return lambda self, agent, check, **_: initialise(self, agent, check, seconds=3600.0)

    replace(asking, "_answered", answering)
    replace(HealthAsker, "__init__", made)
    posture.WHOLE_SECONDS = 3600.0


MUTANTS = (
    hub_mutant("guarded-as-sent", "what is run wants the token, however its path is spelt (7.1)", _guarded_as_sent),
    hub_mutant("query-opens", "the query opens nothing (7.1)", _waved_through(_tells_an_open_path)),
    hub_mutant("home-opens", "no header opens anything but Authorization (7.1)", _waved_through(_from_home)),
    hub_mutant("log-forked", "whoever loses the race for a number decides again (7.4)", _forked),
    hub_mutant("log-second-silent", "every change has its entry (7.4)", _second_unlogged),
    hub_mutant("both-kept", "one key a DID, also of two at the same moment (P-CP-03)", _both_kept),
    hub_mutant("tag-of-count", "a tag stands for one trust set (7.1)", _counted),
    hub_mutant("tag-for-ever", "a tag stands for one trust set (7.1)", _one_tag),
    hub_mutant("revoke-any-case", "a DID has its case (P-CP-02)", _in_any_case),
    hub_mutant("did-any-name", "a DID is one (P-CP-01)", _any_name),
    hub_mutant("log-no-rotation", "a new key is logged (7.4)", unlogged("issuer.rotated")),
    hub_mutant("log-unknown-revoked", "a rejected change adds nothing (7.4)", _revoked_unknown),
    hub_mutant("revoked-in-memory", "a revocation outlives a restart (7.5)", _hidden_only),
    hub_mutant("chain-begun-anew", "the log goes on over a restart (7.4)", _begun_anew),
    hub_mutant("service-move-breaks", "a name registered again has its new address (7.1)", _move_breaks),
    hub_mutant("service-never-moved", "a name registered again has its new address (7.1)", _never_moved),
    hub_mutant("client-errors-healthy", "200 alone is healthy (7.3)", _client_errors_healthy),
    hub_mutant("asks-one-by-one", "services are asked side by side (7.3)", _one_by_one),
    hub_mutant("each-read-bounded", "two seconds for the whole answer (7.3)", _each_read_bounded),
)
