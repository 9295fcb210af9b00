"""Mutants of the gateway's repeats and limits: Idempotency-Key and rates (1.1 and 3.3)."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import re
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote

import orjson
from sqlalchemy import delete, select, update

from reference.gateway import calls, idempotency, limits
from reference.gateway.calls import Calls
from reference.gateway.idempotency import Idempotency
from reference.store.checkout_tables import link_ends, links
from reference.store.database import Taken
from reference.store.idempotency import Scope
from reference.store.tenant_tables import answers
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace
from reference.web import rate
from reference.web.errors import Refused
from reference.web.exchange import Reply, Request


def _scope(change: Callable[[Any, calls.Call], Any]) -> Callable[[], None]:
    """Return what changes the place at which a call's answer is stored."""

    def elsewhere(find: Callable[..., Any]) -> Callable[..., Any]:
        def scope_of(call: calls.Call) -> Any:
            found = find(call)
            return None if found is None else change(found, call)

        return scope_of

    return lambda: replace(idempotency, "_scope_of", elsewhere)


def _bodies_are_keys() -> None:
    def keyed(find: Callable[..., Any]) -> Callable[..., Any]:
        def scope_of(call: calls.Call) -> Any:
            found, request = find(call), call.request
            if found is not None or not request.path.startswith("/v1/"):  # an administrator has no tenant
                return found
            return Scope(call.tenant.tenant.id, request.method, request.path, f"body-{call.body.hash}")

        return scope_of

    replace(idempotency, "_scope_of", keyed)


def _window(change: Callable[[int], int]) -> Callable[[], None]:
    def lasting(init: Callable[..., Any]) -> Callable[..., Any]:
        def made(self: Idempotency, *args: Any, window: int, **options: Any) -> None:
            init(self, *args, window=change(window), **options)

        return made

    return lambda: replace(Idempotency, "__init__", lasting)


def _window_slides() -> None:
    """A key is kept for as long as it is used."""

    def prolonging(replay: Callable[..., Any]) -> Callable[..., Any]:
        async def replayed(self: Idempotency, scope: Any, call: calls.Call) -> Reply | None:
            found: Reply | None = await replay(self, scope, call)
            if found is not None and scope is not None:
                place = [answers.c[name] == value for name, value in dataclasses.asdict(scope).items()]
                until = self._clock.now() + self._window
                await self._database.change(update(answers).where(*place).values(expires_at=until))
            return found

        return replayed

    replace(Idempotency, "_replay", prolonging)


def _stored_afterwards() -> None:
    """What a call makes and its stored answer are two transactions."""

    def in_two(carry_out: Callable[..., Any]) -> Callable[..., Any]:
        async def carried(self: Idempotency, made: Any, scope: Any, call: calls.Call) -> None:
            await carry_out(self, made, None, call)
            if scope is not None:
                try:
                    await carry_out(self, dataclasses.replace(made, changes=()), scope, call)
                except Taken:
                    return

        return carried

    replace(Idempotency, "_carry_out", in_two)


def _made_before_the_conflict() -> None:
    def eager(once: Callable[..., Any]) -> Callable[..., Any]:
        async def executed(self: Idempotency, call: calls.Call, make: Callable[..., Any]) -> Reply:
            try:
                reply: Reply = await once(self, call, make)
            except Refused as refusal:
                if refusal.code == "idempotency_conflict":
                    await self._carry_out(await make(), None, call)
                raise
            return reply

        return executed

    replace(Idempotency, "once", eager)


def _replay(change: Callable[[calls.Call, Reply], Reply]) -> Callable[[], None]:
    """Return what changes replayed answers."""

    def altered(find: Callable[..., Any]) -> Callable[..., Any]:
        async def replayed(self: Idempotency, scope: Any, call: calls.Call) -> Reply | None:
            found: Reply | None = await find(self, scope, call)
            return None if found is None else change(call, found)

        return replayed

    return lambda: replace(Idempotency, "_replay", altered)


def _free_once(over: Callable[[int, str | None, int], bool]) -> Callable[[], None]:
    """Return what forgets a key as soon as its link is over: by its expiry, its state and the time."""

    def forgetting(find: Callable[..., Any]) -> Callable[..., Any]:
        async def replayed(self: Idempotency, scope: Any, call: calls.Call) -> Reply | None:
            found: Reply | None = await find(self, scope, call)
            if found is None or call.request.path != "/v1/payment-links":
                return found
            ends = links.outerjoin(link_ends, link_ends.c.link_id == links.c.id)
            token = orjson.loads(found.body)["token"]
            wanted = select(links.c.expires_at, link_ends.c.state).select_from(ends).where(links.c.token == token)
            now = self._clock.now()
            if not any(over(row[0], row[1], now) for row in await self._database.rows(wanted)):
                return found
            place = [answers.c[name] == value for name, value in dataclasses.asdict(scope).items()]
            await self._database.change(delete(answers).where(*place))
            return None

        return replayed

    return lambda: replace(Idempotency, "_replay", forgetting)


def _conflict_edits_the_link() -> None:
    """Another body under a key is refused, and its amount is the link's all the same."""

    def editing(once: Callable[..., Any]) -> Callable[..., Any]:
        async def executed(self: Idempotency, call: calls.Call, make: Callable[..., Any]) -> Reply:
            try:
                reply: Reply = await once(self, call, make)
            except Refused as refusal:
                scope, changed = idempotency._scope_of(call), call.body.value  # noqa: SLF001 - where its answer is kept
                if scope is None or refusal.code != "idempotency_conflict" or not isinstance(changed, dict):
                    raise
                stored = await self._answers.get(scope, now=self._clock.lapsed())
                if stored is not None:
                    body = self._seal.open(stored.sealed_body, idempotency._place(scope))  # noqa: SLF001
                    token, amount = orjson.loads(body).get("token"), changed.get("amount")
                    if isinstance(amount, int | float):
                        edited = {"amount_microunits": round(amount * 1_000_000)}
                        await self._database.change(update(links).where(links.c.token == token).values(**edited))
                raise
            return reply

        return executed

    for name in ("once", "kept"):
        replace(Idempotency, name, editing)


def _as_a_number(key: str) -> str:
    try:
        return str(float(key))
    except ValueError:
        return key


def _expiry_told_anew(call: calls.Call, reply: Reply) -> Reply:
    if call.request.path != "/v1/payment-links":
        return reply
    body = orjson.loads(reply.body)
    body["expires_at"] = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return dataclasses.replace(reply, body=orjson.dumps(body))


def _resource_told_anew(call: calls.Call, reply: Reply) -> Reply:
    if call.request.path != "/v1/resources":
        return reply
    body = orjson.loads(reply.body) | {"id": secrets.token_hex(16)}
    return dataclasses.replace(reply, body=orjson.dumps(body))


def _id_by_key(call: calls.Call, reply: Reply) -> Reply:
    key = call.request.one("idempotency-key").encode()
    own = "req_" + hashlib.sha256(key).hexdigest()[:32]
    return dataclasses.replace(reply, headers={**reply.headers, "X-Request-Id": own})


# --- limits


def _bucket(change: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
    """Return what changes the limit of tenants as it is set up."""

    def other(init: Callable[..., Any]) -> Callable[..., Any]:
        def made(self: rate.RateLimit, per_minute: int, clock: Any, **options: Any) -> None:
            terms = {"per_minute": per_minute, **options}
            if per_minute == 300:
                change(terms)
            init(self, clock=clock, **terms)

        return made

    return lambda: replace(rate.RateLimit, "__init__", other)


def _keyed_free() -> None:
    """Charge no call that bears an Idempotency-Key."""

    def sparing(charge: Callable[..., None]) -> Callable[..., None]:
        def tenant(self: limits.Limits, scope: Any, tenant_id: str) -> None:
            if all(name.lower() != b"idempotency-key" for name, _ in scope["headers"]):
                charge(self, scope, tenant_id)

        return tenant

    replace(limits.Limits, "tenant", sparing)


def _charged_as(key: Callable[[Any, str], str]) -> Callable[[], None]:
    """Return what charges a tenant's calls to another account."""

    def elsewhere(charge: Callable[..., Any]) -> Callable[..., Any]:
        def tenant(self: limits.Limits, scope: Any, tenant_id: str) -> None:
            charge(self, scope, key(scope, tenant_id))

        return tenant

    return lambda: replace(limits.Limits, "tenant", elsewhere)


def _by_key(scope: Any, tenant_id: str) -> str:
    keys = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == b"authorization"]
    return " ".join((tenant_id, *keys))


def _forwarded_for(scope: Any, tenant_id: str) -> str:
    fields = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == b"x-forwarded-for"]
    return " ".join((tenant_id, *fields))


def _faulty_calls_are_free() -> None:
    def late(answer: Callable[..., Any]) -> Callable[..., Any]:
        async def answered(self: Calls, operation: Any, scope: Any, request: Request, call: Mapping[str, Any]) -> Any:
            if operation.access is calls.Access.TENANT and operation.reads and request.headers.get("authorization"):
                operation.reads(calls.body_of(request, required=True))
            return await answer(self, operation, scope, request, call)

        return answered

    replace(Calls, "answer", late)


def _no_wait_told() -> None:
    def silent(refuse: Callable[..., Any]) -> Callable[..., Any]:
        def refused(allowance: rate.Allowance) -> Refused:
            full: Refused = refuse(allowance)
            kept = {name: value for name, value in full.headers.items() if name != "Retry-After"}
            return Refused(full.status, full.code, full.message, kept, full.context)

        return refused

    replace(limits, "too_many", silent)


def _locked_out() -> None:
    """Whoever was refused once stays out for half a minute, whatever Retry-After told."""
    until: dict[str, float] = {}

    def grudging(take: Callable[..., Any]) -> Callable[..., Any]:
        def taken(self: rate.RateLimit, key: str) -> Any:
            allowance = take(self, key)
            now = self._clock.seconds()
            if allowance is None or (allowance.allowed and until.get(key, 0.0) <= now):
                return allowance
            if allowance.allowed:
                return dataclasses.replace(allowance, allowed=False, retry_after=max(1, allowance.retry_after))
            until[key] = max(until.get(key, 0.0), now + 30)
            return allowance

        return taken

    replace(rate.RateLimit, "take", grudging)


def _receipts_unlimited() -> None:
    replace(limits.Limits, "receipts", lambda _: lambda _self, _scope: None)


def _receipts_at(share: float) -> Callable[[], None]:
    def less(init: Callable[..., Any]) -> Callable[..., Any]:
        def made(self: rate.WindowLimit, per_minute: int, clock: Any, **options: Any) -> None:
            init(self, math.ceil(per_minute * share), clock, **options)

        return made

    return lambda: replace(rate.WindowLimit, "__init__", less)


def _mutant(name: str, rule: str, apply: Callable[[], None]) -> Mutant:
    return Mutant(name, rule, apply, surface="gateway")


MUTANTS = (
    _mutant(
        "keys-of-all-tenants",
        "an Idempotency-Key belongs to its tenant (P-ID-02)",
        _scope(lambda found, _: dataclasses.replace(found, tenant_id="")),
    ),
    _mutant(
        "idempotency-in-any-case",
        "an Idempotency-Key is taken letter by letter (P-ID-02)",
        _scope(lambda found, _: dataclasses.replace(found, key=found.key.lower())),
    ),
    _mutant(
        "keys-to-128-letters",
        "an Idempotency-Key is all of its letters (P-ID-01)",
        _scope(lambda found, _: dataclasses.replace(found, key=found.key[:128])),
    ),
    _mutant(
        "keys-unescaped",
        "an Idempotency-Key is taken as it is sent (P-ID-01)",
        _scope(lambda found, _: dataclasses.replace(found, key=unquote(found.key))),
    ),
    _mutant(
        "keys-as-numbers",
        "an Idempotency-Key is a text (P-ID-01)",
        _scope(lambda found, _: dataclasses.replace(found, key=_as_a_number(found.key))),
    ),
    _mutant(
        "keys-of-letters-alone",
        "an Idempotency-Key is all of its letters (P-ID-01)",
        _scope(lambda found, _: dataclasses.replace(found, key=re.sub("[^A-Za-z0-9]", "", found.key))),
    ),
    _mutant(
        "long-keys-ignored",
        "a repeated key executes nothing, however long it is (P-ID-03)",
        _scope(lambda found, _: None if len(found.key) > 128 else found),
    ),
    _mutant(
        "keys-by-client",
        "an Idempotency-Key is its tenant's, whichever client sends it (P-ID-02)",
        _scope(lambda found, call: dataclasses.replace(found, key=call.request.one("user-agent")[:99] + found.key)),
    ),
    _mutant(
        "keys-by-api-key",
        "an Idempotency-Key is its tenant's, by whichever API key (P-ID-02)",
        _scope(lambda found, call: dataclasses.replace(found, key=call.request.one("authorization") + found.key)),
    ),
    _mutant(
        "key-free-once-paid",
        "a key is bound for 24 hours, whatever becomes of the link (P-ID-02)",
        _free_once(lambda _, state, __: state == "paid"),
    ),
    _mutant(
        "key-free-once-cancelled",
        "a key is bound for 24 hours, whatever becomes of the link (P-ID-02)",
        _free_once(lambda _, state, __: state == "cancelled"),
    ),
    _mutant(
        "key-free-once-expired",
        "a key is bound for 24 hours, whatever becomes of the link (P-ID-02)",
        _free_once(lambda expires_at, _, now: now > expires_at),
    ),
    _mutant("conflict-edits-link", "a conflict changes nothing (P-ID-04)", _conflict_edits_the_link),
    _mutant(
        "key-and-body",
        "one key stands for one call, whatever its body (P-ID-04)",
        _scope(lambda found, call: dataclasses.replace(found, key=found.key + call.body.hash)),
    ),
    _mutant("bodies-are-keys", "the key is optional, and without it nothing is a repeat (P-ID-01)", _bodies_are_keys),
    _mutant("keys-ignored", "a repeated key executes nothing (P-ID-03)", _scope(lambda *_: None)),
    _mutant("made-before-conflict", "a conflict creates nothing (P-ID-04)", _made_before_the_conflict),
    _mutant("stored-afterwards", "of concurrent calls with one key one executes (P-ID-05)", _stored_afterwards),
    _mutant("window-of-23-hours", "a key is bound for 24 hours (P-ID-02)", _window(lambda seconds: seconds - 3600)),
    _mutant("window-without-end", "after 24 hours a key is free (P-ID-02)", _window(lambda seconds: seconds * 100)),
    _mutant("window-slides", "the 24 hours of a key count from its first call (P-ID-02)", _window_slides),
    _mutant("expiry-told-anew", "a repeat gets the stored answer (P-ID-03)", _replay(_expiry_told_anew)),
    _mutant(
        "resource-told-anew",
        "a repeat gets the stored answer, of a resource too (P-ID-03)",
        _replay(_resource_told_anew),
    ),
    _mutant("id-by-key", "a replayed answer has its own request id (P-CV-17)", _replay(_id_by_key)),
    _mutant("double-rate", "300 calls a minute (P-RL-01)", _bucket(lambda terms: terms.update(per_minute=600))),
    _mutant("burst-of-30", "60 calls at once (P-RL-01)", _bucket(lambda terms: terms.update(depth=30))),
    _mutant(
        "rate-of-390", "300 calls a minute, sustained (P-RL-01)", _bucket(lambda terms: terms.update(per_minute=390))
    ),
    _mutant(
        "rate-per-endpoint",
        "all calls of a tenant count together (P-RL-01)",
        _charged_as(lambda scope, tenant_id: tenant_id + scope["path"]),
    ),
    _mutant("rate-by-key", "all keys of a tenant count together (P-RL-01)", _charged_as(_by_key)),
    _mutant("rate-by-client", "all calls of a tenant count together (P-RL-01)", _charged_as(_forwarded_for)),
    _mutant("keyed-calls-free", "a call with an Idempotency-Key counts, too (P-RL-01)", _keyed_free),
    _mutant("rate-of-all", "each tenant has a limit of its own (P-RL-01)", _charged_as(lambda *_: "everybody")),
    _mutant("faulty-calls-free", "a call that fails by its body counts, too (3.1)", _faulty_calls_are_free),
    _mutant("no-wait-told", "429 carries Retry-After (1.1)", _no_wait_told),
    _mutant("locked-out", "after Retry-After a call passes (1.1)", _locked_out),
    _mutant("receipts-unlimited", "120 receipt verifications a minute (P-RL-02)", _receipts_unlimited),
    _mutant("receipts-at-90", "not fewer than 120 receipt verifications a minute (P-RL-02)", _receipts_at(0.75)),
)
