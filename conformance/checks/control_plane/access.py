"""CP-AUTH: which operations require the admin token, and which documents every client may read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces.control_plane import documents
from conformance.surfaces.control_plane.access import (
    AUDIT,
    ISSUERS,
    NOT_ADMITTED,
    OPEN_READS,
    SERVICES,
    Hub,
    Issuer,
    explain_token_refusal,
    hub_of,
    is_client_error,
    is_success,
    json_of,
    serving_hub,
    with_service_body,
)
from conformance.surfaces.control_plane.services import PlayedService, play_service

_HERE = {"CP-AUTH-01": "POST /v1/issuers", "CP-AUTH-02": "DELETE /v1/issuers/{did}", "CP-AUTH-03": "POST /v1/services"}
# Two registered HTTP schemes other than Bearer, and one that is not registered.
_OTHER_SCHEMES = ("Basic", "Digest", "Token")
_FIX = "Require the Bearer admin token on the four admin operations before any work, and compare the whole token."


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What a client without the token tries to change.

    Attributes:
        hub: The control plane.
        stranger: An issuer that is not in the trust set.
        member: An issuer that is in it; not registered if the suite has no token for that.
        service: A service that is not registered.
    """

    hub: Hub
    stranger: Issuer
    member: Issuer
    service: PlayedService

    async def all(self, **credential: Any) -> Iterator[tuple[str, Answer]]:
        """Send the four admin operations, each with a body that is valid, so that only the credential is wrong."""
        hub = self.hub
        encoded = self.member.did.replace(":", "%3A")
        return iter(
            (
                ("CP-AUTH-01", await hub.call("POST", ISSUERS, json_body=self.stranger.body, **credential)),
                ("CP-AUTH-02", await hub.call("DELETE", f"{ISSUERS}/{encoded}", **credential)),
                (
                    "CP-AUTH-03",
                    await hub.call("POST", SERVICES, json_body=hub.service_body(self.service), **credential),
                ),
                ("CP-AUTH-04", await hub.call("GET", AUDIT, **credential)),
            )
        )

    async def changed(self, row: str) -> str | None:
        """Return what an attempt changed, or None."""
        hub = self.hub
        if row == "CP-AUTH-01":
            return "the issuer is in the trust set" if self.stranger.did in await hub.trust_set() else None
        if row == "CP-AUTH-02":
            # Without a token the member could not be registered, so its absence proves nothing.
            gone = hub.token is not None and self.member.did not in await hub.trust_set()
            return "the issuer is gone from the trust set" if gone else None
        if row == "CP-AUTH-03":
            return "the posture lists the service" if hub.posture_records(await hub.posture(), self.service) else None
        return None


@asynccontextmanager
async def _attempt(case: Case) -> AsyncIterator[_Attempt]:
    hub = await serving_hub(case)
    async with AsyncExitStack() as stack:
        service = await play_service(case, stack, "stranger")
        member = hub.new_issuer("member")
        if hub.token is not None:
            await stack.enter_async_context(hub.registered_issuer(member))
        yield _Attempt(hub, hub.new_issuer("stranger"), member, service)


# Forms of DIDs, and whether a hub may refuse them: the interface requires only did:web.
_OTHER_DIDS = {
    "did:web:{host}%3A8443:tenants:first": False,
    "did:example:{host}": True,
}


@check("CP-AUTH-01", "CP-AUTH-02", "CP-AUTH-03", "CP-AUTH-04", surface="control_plane", fix=_FIX)
async def nobody_changes_anything_without_the_token(case: Case) -> None:
    """Without the admin token no issuer is registered or revoked, and no log entry is returned.

    Sends each admin operation without a credential, with bodies that are otherwise valid. Expects a refusal each time,
    an unchanged trust set and posture, and no log entry in the answer.
    """
    async with _attempt(case) as attempt:
        for row, answer in await attempt.all():
            if row == "CP-AUTH-04":
                _reveals_nothing(case, row, answer, {})
                continue
            # The status alone is not enough: a server may change its state first and refuse afterwards.
            done = await attempt.changed(row)
            holds = is_client_error(answer) and done is None
            found = f"{answer.status}; {done or 'nothing changed'}"
            where = {"operation": _HERE[row]}
            case.expect(row, holds, "refused, and nothing changed", found, exchange=answer, where=where)


@check("CP-AUTH-05", surface="control_plane", fix=_FIX)
async def a_wrong_token_opens_nothing(case: Case) -> None:
    """A wrong Bearer value is refused on all four admin operations, and so is the right token under another scheme.

    Tries each operation with an invented token, an empty one, ones that differ from the admin token at one end only,
    and with that token under other schemes. Expects a refusal each time, and that nothing changed.
    """
    async with _attempt(case) as attempt:
        for name, value in _wrong(attempt.hub, case):
            case.client.names.secret(value.partition(" ")[2], "WRONG_TOKEN")
            for row, answer in await attempt.all(headers={"Authorization": value}):
                where = {"operation": _HERE.get(row, "GET /v1/audit"), "credential": name}
                if row == "CP-AUTH-04":
                    _reveals_nothing(case, "CP-AUTH-05", answer, where)
                    continue
                done = await attempt.changed(row)
                found = f"{answer.status}; {done or 'nothing changed'}"
                holds = is_client_error(answer) and done is None
                case.expect("CP-AUTH-05", holds, "refused, and nothing changed", found, exchange=answer, where=where)


def _wrong(hub: Hub, case: Case) -> Iterator[tuple[str, str]]:
    """Yield invalid values of Authorization, by their description."""
    yield "invented", "Bearer unknown-token-" + case.session.nonce
    yield "empty", "Bearer "
    if hub.token is None:
        return
    other = "A" if hub.token[-1] != "A" else "B"
    # Prefixes and suffixes of the token find comparisons that stop early or search for one text in the other.
    yield "the token without its end", f"Bearer {hub.token[:-1]}"
    yield "the token with another end", f"Bearer {hub.token[:-1]}{other}"
    yield "the token and more", f"Bearer {hub.token}{other}"
    yield "the token without its beginning", f"Bearer {hub.token[1:]}"
    if hub.token.swapcase() != hub.token:
        yield "the token in other case", f"Bearer {hub.token.swapcase()}"
    for scheme in _OTHER_SCHEMES:
        yield f"the token as {scheme}", f"{scheme} {hub.token}"


def _reveals_nothing(case: Case, row: str, answer: Answer, where: dict[str, str]) -> None:
    document = json_of(answer)
    found = documents.entries(document, case.profile.hub_bindings.audit_entries_at) or []
    told = [one for one in found if isinstance(one, dict) and documents.tells_of(one, "did:")]
    holds = is_client_error(answer) and not told
    what = f"{answer.status}, {len(told)} entries"
    case.expect(row, holds, "refused, without any entry", what, exchange=answer, where=where)


@check(
    "CP-AUTH-06",
    surface="control_plane",
    fix="Serve health, trust set, atb-keys.json and posture to every client, with or without a credential.",
)
async def reads_need_no_credential(case: Case) -> None:
    """Health, trust set, atb-keys and posture can be read without a credential.

    Reads all four without one. Expects 200 each time.
    """
    hub = await hub_of(case)
    for path in OPEN_READS:
        answer = await hub.call("GET", path)
        case.expect(
            "CP-AUTH-06", answer.status == 200, "200", answer.status, exchange=answer, where={"operation": path}
        )


@check(
    "CP-ISSUER-01",
    "CP-SVC-01",
    "CP-AUDIT-01",
    surface="control_plane",
    fix="Let the Bearer admin token register issuers and services and read the log, with the bodies of the interface.",
)
async def the_token_opens_the_admin_operations(case: Case) -> None:
    """The admin token registers an issuer and a service, and reads the log.

    Sends the three operations with the token. Registers issuers by a plain DID, by one with a port and a path, and by
    one of another method. Expects success each time (200, 201, 202 or 204), and for the log 200 with a list of entries.
    A hub that refuses every other method of DIDs only gets a warning.
    """
    hub = await hub_of(case)
    hub.known_token  # noqa: B018 - without it there is nothing to judge
    issuer = hub.new_issuer()
    registered = await hub.register(issuer)
    await hub.revoke(issuer.did)
    read = await hub.admin("GET", AUDIT)
    # If the token opens neither operation, the profile has a wrong token, which is no fault of the hub.
    if {registered.status, read.status} <= NOT_ADMITTED:
        raise Inconclusive(explain_token_refusal(registered))
    case.expect("CP-ISSUER-01", is_success(registered), "success", registered.status, exchange=registered)
    await _other_issuers(case, hub)
    found = documents.entries(json_of(read), hub.bindings.audit_entries_at)
    holds = read.status == 200 and found is not None
    what = f"{read.status}, {'no list' if found is None else f'{len(found)} entries'}"
    case.expect("CP-AUDIT-01", holds, "200 with the log", what, exchange=read)
    try:
        hub = await with_service_body(hub)
    except Inconclusive as reason:
        case.mark_inconclusive("CP-SVC-01", str(reason))
        return
    async with AsyncExitStack() as stack:
        service = await play_service(case, stack, "registered")
        answer = await hub.register_service(service)
        case.expect("CP-SVC-01", is_success(answer), "success", answer.status, exchange=answer)
        await hub.remove_service(service)


async def _other_issuers(case: Case, hub: Hub) -> None:
    """Register issuers with DIDs of other forms, and judge the answers."""
    ours = case.profile.is_reference
    left_open = None if ours else "which methods of DIDs a hub takes is left open"
    for form, beyond in _OTHER_DIDS.items():
        issuer = hub.new_issuer("formed", form)
        answer = await hub.register(issuer)
        await hub.revoke(issuer.did)
        holds, where = is_success(answer), {"did": form}
        told = left_open if beyond else None
        case.expect("CP-ISSUER-01", holds, "success", answer.status, exchange=answer, where=where, beyond=told)
