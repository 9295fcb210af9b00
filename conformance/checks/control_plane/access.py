"""CP-AUTH: which operations require the admin token, and which documents every client may read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces.control_plane import document_reader
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

_OPERATIONS = {
    "CP-AUTH-01": "POST /v1/issuers",
    "CP-AUTH-02": "DELETE /v1/issuers/{did}",
    "CP-AUTH-03": "POST /v1/services",
}
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

    async def send_all(self, **credential: Any) -> Iterator[tuple[str, Answer]]:
        """Send the four admin operations, each with a body that is valid, so that only the credential is wrong."""
        hub = self.hub
        encoded_did = self.member.did.replace(":", "%3A")
        return iter(
            (
                ("CP-AUTH-01", await hub.call("POST", ISSUERS, json_body=self.stranger.body, **credential)),
                ("CP-AUTH-02", await hub.call("DELETE", f"{ISSUERS}/{encoded_did}", **credential)),
                (
                    "CP-AUTH-03",
                    await hub.call("POST", SERVICES, json_body=hub.service_body(self.service), **credential),
                ),
                ("CP-AUTH-04", await hub.call("GET", AUDIT, **credential)),
            )
        )

    async def describe_change(self, row: str) -> str | None:
        """Return what an attempt changed, or None."""
        hub = self.hub
        if row == "CP-AUTH-01":
            return "the issuer is in the trust set" if self.stranger.did in await hub.trust_set() else None
        if row == "CP-AUTH-02":
            # Without a token the member could not be registered, so its absence proves nothing.
            is_gone = hub.token is not None and self.member.did not in await hub.trust_set()
            return "the issuer is gone from the trust set" if is_gone else None
        if row == "CP-AUTH-03":
            return "the posture lists the service" if hub.posture_records(await hub.posture(), self.service) else None
        return None


@asynccontextmanager
async def _prepare_attempt(case: Case) -> AsyncIterator[_Attempt]:
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
    async with _prepare_attempt(case) as attempt:
        for row, answer in await attempt.send_all():
            if row == "CP-AUTH-04":
                _judge_reveals_nothing(case, row, answer, {})
                continue
            # The status alone is not enough: a server may change its state first and refuse afterwards.
            change = await attempt.describe_change(row)
            holds = is_client_error(answer) and change is None
            finding = f"{answer.status}; {change or 'nothing changed'}"
            where = {"operation": _OPERATIONS[row]}
            case.expect(row, holds, "refused, and nothing changed", finding, exchange=answer, where=where)


@check("CP-AUTH-05", surface="control_plane", fix=_FIX)
async def a_wrong_token_opens_nothing(case: Case) -> None:
    """A wrong Bearer value is refused on all four admin operations, and so is the right token under another scheme.

    Tries each operation with an invented token, an empty one, ones that differ from the admin token at one end only,
    and with that token under other schemes. Expects a refusal each time, and that nothing changed.
    """
    async with _prepare_attempt(case) as attempt:
        for name, value in _list_wrong_credentials(attempt.hub, case):
            case.client.names.secret(value.partition(" ")[2], "WRONG_TOKEN")
            for row, answer in await attempt.send_all(headers={"Authorization": value}):
                where = {"operation": _OPERATIONS.get(row, "GET /v1/audit"), "credential": name}
                if row == "CP-AUTH-04":
                    _judge_reveals_nothing(case, "CP-AUTH-05", answer, where)
                    continue
                change = await attempt.describe_change(row)
                finding = f"{answer.status}; {change or 'nothing changed'}"
                holds = is_client_error(answer) and change is None
                case.expect("CP-AUTH-05", holds, "refused, and nothing changed", finding, exchange=answer, where=where)


def _list_wrong_credentials(hub: Hub, case: Case) -> Iterator[tuple[str, str]]:
    """Yield invalid values of Authorization, by their description."""
    yield "invented", "Bearer unknown-token-" + case.session.nonce
    yield "empty", "Bearer "
    if hub.token is None:
        return
    last_character = "A" if hub.token[-1] != "A" else "B"
    # Prefixes and suffixes of the token find comparisons that stop early or search for one text in the other.
    yield "the token without its end", f"Bearer {hub.token[:-1]}"
    yield "the token with another end", f"Bearer {hub.token[:-1]}{last_character}"
    yield "the token and more", f"Bearer {hub.token}{last_character}"
    yield "the token without its beginning", f"Bearer {hub.token[1:]}"
    if hub.token.swapcase() != hub.token:
        yield "the token in other case", f"Bearer {hub.token.swapcase()}"
    # A server that looks only for the token in the field accepts it under any scheme.
    for scheme in _OTHER_SCHEMES:
        yield f"the token as {scheme}", f"{scheme} {hub.token}"


def _judge_reveals_nothing(case: Case, row: str, answer: Answer, where: dict[str, str]) -> None:
    document = json_of(answer)
    entries = document_reader.entries(document, case.profile.hub_bindings.audit_entries_at) or []
    issuer_entries = [one for one in entries if isinstance(one, dict) and document_reader.mentions(one, "did:")]
    holds = is_client_error(answer) and not issuer_entries
    finding = f"{answer.status}, {len(issuer_entries)} entries"
    case.expect(row, holds, "refused, without any entry", finding, exchange=answer, where=where)


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
    registration = await hub.register(issuer)
    await hub.revoke(issuer.did)
    log_answer = await hub.admin("GET", AUDIT)
    # If the token opens neither operation, the profile has a wrong token, which is no fault of the hub.
    if {registration.status, log_answer.status} <= NOT_ADMITTED:
        raise Inconclusive(explain_token_refusal(registration))
    case.expect("CP-ISSUER-01", is_success(registration), "success", registration.status, exchange=registration)
    await _judge_other_issuers(case, hub)
    entries = document_reader.entries(json_of(log_answer), hub.bindings.audit_entries_at)
    holds = log_answer.status == 200 and entries is not None
    finding = f"{log_answer.status}, {'no list' if entries is None else f'{len(entries)} entries'}"
    case.expect("CP-AUDIT-01", holds, "200 with the log", finding, exchange=log_answer)
    try:
        hub = await with_service_body(hub)
    except Inconclusive as reason:
        case.mark_inconclusive("CP-SVC-01", str(reason))
        return
    async with AsyncExitStack() as stack:
        service = await play_service(case, stack, "registered")
        answer = await hub.register_service(service)
        case.expect("CP-SVC-01", is_success(answer), "success", answer.status, exchange=answer)
        # The suite leaves no service behind, because a shared hub would call its address for ever.
        await hub.remove_service(service)


async def _judge_other_issuers(case: Case, hub: Hub) -> None:
    """Register issuers with DIDs of other forms, and judge the answers."""
    is_reference = case.profile.is_reference
    open_point = None if is_reference else "which methods of DIDs a hub takes is left open"
    for form, beyond in _OTHER_DIDS.items():
        issuer = hub.new_issuer("formed", form)
        answer = await hub.register(issuer)
        await hub.revoke(issuer.did)
        holds, where = is_success(answer), {"did": form}
        reason = open_point if beyond else None
        case.expect("CP-ISSUER-01", holds, "success", answer.status, exchange=answer, where=where, beyond=reason)
