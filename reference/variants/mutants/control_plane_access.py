"""Mutants of who may do what at the control plane, and of what it says of itself (7.1)."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import orjson

from reference.control_plane.app import Routes
from reference.control_plane.audit_reading import AuditReading
from reference.control_plane.calls import Call, Operation, Registrant
from reference.control_plane.documents import Documents
from reference.control_plane.posture import Posture
from reference.control_plane.registering import Registering
from reference.control_plane.request_guard import ControlPlaneGuard
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace
from reference.web.bearer_token import BearerToken, unauthorized
from reference.web.envelope import Scope
from reference.web.errors import Refused
from reference.web.exchange import Reply

Answer: TypeAlias = Callable[[Any, Call], Awaitable[Reply]]
SURFACE = "control_plane"


def hub_mutant(name: str, rule: str, apply: Callable[[], None]) -> Mutant:
    """Return a mutant of the control plane."""
    return Mutant(f"hub-{name}", rule, apply, surface=SURFACE)


def retold(owner: Any, method: str, change: Callable[[Any], Any]) -> Callable[[], None]:
    """Return what changes the JSON of an operation's answers."""

    def made(answer: Answer) -> Answer:
        async def answered(self: Any, call: Call) -> Reply:
            reply = await answer(self, call)
            return dataclasses.replace(reply, body=orjson.dumps(change(orjson.loads(reply.body))))

        return answered

    return lambda: replace(owner, method, made)


def headed(owner: Any, method: str, **headers: str) -> Callable[[], None]:
    """Return what changes headers of an operation's answers."""

    def made(answer: Answer) -> Answer:
        async def answered(self: Any, call: Call) -> Reply:
            reply = await answer(self, call)
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return dataclasses.replace(reply, headers={**reply.headers, **named})

        return answered

    return lambda: replace(owner, method, made)


def _operations(change: Callable[[Operation], Operation]) -> Callable[[], None]:
    """Return what changes operations."""

    def made(initialise: Callable[..., None]) -> Callable[..., None]:
        def initialised(self: Routes, served: Any) -> None:
            initialise(self, [change(one) for one in served])

        return initialised

    return lambda: replace(Routes, "__init__", made)


def _open(method: str, path: str) -> Callable[[], None]:
    return _operations(
        lambda one: dataclasses.replace(one, admin=False) if (one.method, one.path) == (method, path) else one
    )


def _guarded(path: str) -> Callable[[], None]:
    return _operations(lambda one: dataclasses.replace(one, admin=True) if one.path == path else one)


def _token(holds: Callable[[bytes, bytes], bool]) -> Callable[[], None]:
    """Return what compares the token in another way; `holds` is told what was sent, and the token."""

    def came_with(_: Callable[..., bool]) -> Callable[..., bool]:
        def came(self: BearerToken, scope: Scope) -> bool:
            fields = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
            scheme, _, sent = (fields[0] if fields else b"").partition(b" ")
            return scheme.lower() == b"bearer" and holds(sent.strip(), self._token)

        return came

    return lambda: replace(BearerToken, "came_with", came_with)


def _any_scheme() -> None:
    """Read the token of whatever scheme comes with it."""
    replace(BearerToken, "is_in", lambda holds: lambda self, fields: holds(self, [_as_bearer(one) for one in fields]))


def _as_bearer(field: str) -> str:
    return f"Bearer {field.partition(' ')[2]}"


def _empty_token() -> None:
    def came_with(original: Callable[..., bool]) -> Callable[..., bool]:
        def came(self: BearerToken, scope: Scope) -> bool:
            values = [value.strip().lower() for name, value in scope["headers"] if name.lower() == b"authorization"]
            return b"bearer" in values or original(self, scope)

        return came

    replace(BearerToken, "came_with", came_with)


def _refused_too_late() -> None:
    """Carry the operation out, and refuse it then."""

    def judging(judge: Callable[..., Any]) -> Callable[..., Any]:
        def judged(self: object, scope: Scope, *body: bytes) -> Any:
            try:
                return judge(self, scope, *body)
            except Refused as refusal:
                if refusal.status != 401 or scope["method"] != "POST":
                    raise
                scope["weldproof.late"] = True
                return Registrant()

        return judged

    def finding(find: Callable[..., Any]) -> Callable[..., Any]:
        def found(self: Routes, scope: Scope) -> Any:
            operation, segment = find(self, scope)
            if not scope.get("weldproof.late"):
                return operation, segment

            async def late(call: Call) -> Reply:
                await operation.run(call)
                raise unauthorized()

            return dataclasses.replace(operation, run=late), segment

        return found

    replace(ControlPlaneGuard, "__call__", judging)
    replace(Registering, "judge", judging)
    replace(Routes, "find", finding)


def _refusal_tells_the_log() -> None:
    """Answer 401 with the log in its body."""

    def showing(show: Answer) -> Answer:
        async def shown(self: AuditReading, call: Call) -> Reply:
            reply = await show(self, call)
            return reply if call.is_admin else dataclasses.replace(reply, status=401)

        return shown

    _open("GET", "/v1/audit")()
    replace(AuditReading, "show", showing)


def _less(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda told: {key: value for key, value in told.items() if key != name}


def _first_kept(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    first: list[Any] = []

    def kept(told: dict[str, Any]) -> dict[str, Any]:
        first.append(told[name])
        return {**told, name: first[0]}

    return kept


def _most_kept(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    seen: list[int] = [0]

    def kept(told: dict[str, Any]) -> dict[str, Any]:
        seen.append(max(seen[-1], told[name]))
        return {**told, name: seen[-1]}

    return kept


MUTANTS = (
    hub_mutant("issuers-open", "registering an issuer wants the token (7.1)", _open("POST", "/v1/issuers")),
    hub_mutant("revoke-open", "revoking an issuer wants the token (7.1)", _open("DELETE", "/v1/issuers/")),
    hub_mutant("services-open", "registering a service wants the token (7.1)", _open("POST", "/v1/services")),
    hub_mutant("audit-open", "the log wants the token (7.1)", _open("GET", "/v1/audit")),
    hub_mutant("token-any", "the token is compared (7.1)", _token(lambda sent, _: bool(sent))),
    hub_mutant("token-shorter", "the token is compared whole", _token(lambda sent, own: own.startswith(sent[:30]))),
    hub_mutant("token-longer", "the token is compared whole", _token(lambda sent, own: sent.startswith(own))),
    hub_mutant(
        "token-end", "the token is compared whole", _token(lambda sent, own: own.endswith(sent) and len(sent) > 9)
    ),
    hub_mutant("token-case", "the token has one case", _token(lambda sent, own: sent.lower() == own.lower())),
    hub_mutant("token-any-scheme", "the token comes as a Bearer's (7.1)", _any_scheme),
    hub_mutant("token-empty", "an empty token is none", _empty_token),
    hub_mutant("refused-late", "what is refused changes nothing (CP-AUTH)", _refused_too_late),
    hub_mutant("refusal-tells", "a refusal reveals nothing of the log (CP-AUTH)", _refusal_tells_the_log),
    hub_mutant("atb-guarded", "atb-keys.json is for everybody (7.1)", _guarded("/.well-known/atb-keys.json")),
    hub_mutant("posture-guarded", "the posture is for everybody (7.1)", _guarded("/v1/posture")),
    hub_mutant("health-array", "health is an object (7.1)", retold(Documents, "health", lambda told: [told])),
    hub_mutant("health-no-issuers", "health counts issuers (7.1)", retold(Documents, "health", _less("issuers"))),
    hub_mutant("health-no-services", "health counts services (7.1)", retold(Documents, "health", _less("services"))),
    hub_mutant(
        "health-issuers-text",
        "counts are numbers (7.1)",
        retold(Documents, "health", lambda told: {**told, "issuers": str(told["issuers"])}),
    ),
    hub_mutant("health-issuers-kept", "counts follow (7.1)", retold(Documents, "health", _first_kept("issuers"))),
    hub_mutant("health-issuers-most", "counts follow revocation", retold(Documents, "health", _most_kept("issuers"))),
    hub_mutant("health-services-kept", "counts follow (7.1)", retold(Documents, "health", _first_kept("services"))),
    hub_mutant("posture-html", "the posture is JSON (7.3)", headed(Posture, "show", Content_Type="text/html")),
    hub_mutant(
        "audit-no-list", "the log is a list (7.4)", retold(AuditReading, "show", lambda told: {**told, "entries": 1})
    ),
)
