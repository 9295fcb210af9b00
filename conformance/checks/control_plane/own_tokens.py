"""CP-OWN-01: tokens of single services, if the target claims the specification (7.1)."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.surfaces.control_plane.access import AUDIT, ISSUERS, SERVICES, Hub, hub_of

ROW: Final = "CP-OWN-01"
# A name is looked up only when the posture is read, and an IP address may be refused (P-CP-05).
_ORIGIN: Final = "http://service.invalid:9"
_OTHER_ORIGINS: Final = {
    "another port": "http://service.invalid:10",
    "another host": "http://other.invalid:9",
    "another scheme": "https://service.invalid:9",
    "a longer host": "http://service.invalid.example:9",
}
_TOO_MANY: Final = 429


@check(
    ROW,
    surface="control_plane",
    fix="Compute a service's own token from the admin token, its name and its origin. Let it register that service "
    "there and do nothing else, and refuse a second change within 60 seconds with 429.",
)
async def a_service_registers_with_its_own_token(case: Case) -> None:
    """A service's own token registers that service at its origin, and does nothing else.

    Computes the token of a name and an origin. Expects that it registers the name there with another path as well, and
    401 under another name, at other origins, and for removing it, reading the log, and registering or revoking an
    issuer. Expects that the same registration again is never refused, and a second change at once with 429 and
    Retry-After. Expects of the older token, over the name alone, 403 for a service that is recorded nowhere.
    """
    hub = await hub_of(case)
    if not case.profile.is_reference:
        case.mark_not_applicable(ROW, "the profile does not claim the specification")
        return
    name, other_name = (f"own-{case.session.nonce}-{case.session.count()}" for _ in range(2))
    for one in (name, other_name):
        case.client.names.name(one, "SERVICE")
    token, older_token = _derive(case, hub, f"{name} at {_ORIGIN}"), _derive(case, hub, name)
    body = {"name": name, "type": "addon", "base_url": _ORIGIN, "health_path": "/health"}
    try:
        answer = await _register(hub, body, older_token)
        _expect(case, answer, 403, "the older token of a service that is recorded nowhere")
        for trial, origin in _OTHER_ORIGINS.items():
            _expect(case, await _register(hub, {**body, "base_url": origin}, token), 401, f"a first time at {trial}")
        _expect(case, await _register(hub, {**body, "name": other_name}, token), 401, "another name")
        _expect(case, await _register(hub, {**body, "name": name.upper()}, token), 401, "the name in capitals")
        _expect(case, await _register(hub, body, token), 201, "the first time")
        await _judge_actor(case, hub, name)
        for trial in ("again", "once more"):
            _expect(case, await _register(hub, body, token), 200, f"unchanged, {trial}")
        _expect(case, await _register(hub, body, older_token), 200, "unchanged, with the older token")
        for trial, origin in _OTHER_ORIGINS.items():
            _expect(case, await _register(hub, {**body, "base_url": origin}, token), 401, trial)
        await _judge_other_operations(case, hub, token, name)
        # Whether the first registration counts as a change is left open, so the second change decides.
        await _register(hub, {**body, "health_path": "/live"}, token)
        answer = await _register(hub, {**body, "health_path": "/ready"}, token)
        _expect(case, answer, _TOO_MANY, "two other health paths at once")
        faults = [] if answer.headers.get("Retry-After", "").isdecimal() else ["no Retry-After"]
        _expect_none(case, answer, faults, "two other health paths at once")
        _expect(case, await hub.admin("POST", SERVICES, json_body={**body, "health_path": "/end"}), 200, "by the admin")
    finally:
        await hub.admin("DELETE", f"{SERVICES}/{name}")


def _derive(case: Case, hub: Hub, service: str) -> str:
    """Return the token of a service: HMAC-SHA256 over `register service …`, keyed with the text of the admin token."""
    text = f"register service {service}"
    mac = hmac.new(hub.known_token.encode("ascii"), text.encode("ascii"), hashlib.sha256).digest()
    token = base64.urlsafe_b64encode(mac).decode("ascii").rstrip("=")
    case.client.names.secret(token, "SERVICE_TOKEN")
    return token


async def _register(hub: Hub, body: dict[str, Any], token: str) -> Answer:
    return await hub.call("POST", SERVICES, json_body=body, credential=token, patient=False)


def _expect(case: Case, answer: Answer, status: int, trial: str) -> None:
    case.expect(
        ROW, answer.status == status, f"{status}", answer.status, exchange=answer, where={"registration": trial}
    )


def _expect_none(case: Case, answer: Answer, faults: Sequence[str], trial: str) -> None:
    case.expect(ROW, not faults, "as 7.1 says", "; ".join(faults), exchange=answer, where={"registration": trial})


async def _judge_actor(case: Case, hub: Hub, name: str) -> None:
    """Judge by whom the log says that the service was registered (7.4)."""
    head = (await hub.admin("GET", f"{AUDIT}?limit=1")).read_object().get("head")
    seq = head.get("seq") if isinstance(head, dict) else 0
    answer = await hub.admin("GET", f"{AUDIT}?after={max(0, int(seq or 0) - 500)}")
    entries = answer.read_object().get("entries")
    actors = [one.get("actor") for one in entries if one.get("subject") == name] if isinstance(entries, list) else []
    faults = [] if actors == [f"service:{name}"] else [f"the actors {actors}"]
    _expect_none(case, answer, faults, "its entry in the log")


async def _judge_other_operations(case: Case, hub: Hub, token: str, name: str) -> None:
    issuer = hub.new_issuer("strange")
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("DELETE", f"{SERVICES}/{name}", {}),
        ("GET", AUDIT, {}),
        ("POST", ISSUERS, {"json_body": issuer.body}),
        ("DELETE", f"{ISSUERS}/{issuer.did}", {}),
    ]
    for method, path, options in calls:
        answer = await hub.call(method, path, credential=token, **options)
        _expect(case, answer, 401, f"{method} {path.replace(name, 'NAME').replace(issuer.did, 'DID')}")
