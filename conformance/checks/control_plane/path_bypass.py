"""CP-AUTH-01 to -04: paths and header fields that bypass a guard which compares another path than the router."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.surfaces.control_plane import documents
from conformance.surfaces.control_plane.access import AUDIT, ISSUERS, PKS, SERVICES, json_of, serving_hub
from conformance.surfaces.control_plane.services import HEALTH, PlayedService, new_name, play_service


@dataclass(frozen=True, slots=True)
class _Way:
    """A spelling of a path, and header fields that go with it."""

    name: str
    before: str = ""
    after: str = ""
    capitals: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)

    def spelt(self, path: str, segment: str = "") -> str:
        """Return a path in this spelling. `segment` stays unchanged."""
        own = path.upper() if self.capitals else path
        return f"{self.before}{own}{segment}{self.after}"


def _ways() -> Iterator[_Way]:
    yield _Way("a slash at the end", after="/")
    yield _Way("two slashes", before="/")
    yield _Way("capitals", capitals=True)
    yield _Way("by way of /health", before=f"{HEALTH}/..")
    yield _Way("a dot segment", before="/.")
    yield _Way("an open path in the query", after=f"?next={PKS}")
    yield _Way("a parameter", after=f";{HEALTH}")
    # A guard that trusts local callers believes such fields, although any client can send them.
    home = {"X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1", "Forwarded": "for=127.0.0.1;proto=https"}
    yield _Way("forwarded from this machine", headers=home)
    yield _Way("another path in a header", headers={"X-Original-URL": HEALTH, "X-Rewrite-URL": HEALTH})


@check(
    "CP-AUTH-01",
    "CP-AUTH-02",
    "CP-AUTH-03",
    "CP-AUTH-04",
    surface="control_plane",
    fix="Require the token in the operation itself, or by the route that matched, never by the text of the URL.",
)
async def no_way_leads_round_the_token(case: Case) -> None:
    """Without the admin token no other spelling of a path, and no header field, does what the operation does.

    Tries the four admin operations without a credential at paths that some routers treat as equal, and with header
    fields that proxies set. For every answer, expects no issuer registered or revoked, no service listed, and no log
    returned.
    """
    hub = await serving_hub(case)
    async with AsyncExitStack() as stack:
        service = await play_service(case, stack, "stranger")
        member = hub.new_issuer("member")
        there = hub.token is not None
        if there:
            await stack.enter_async_context(hub.registered_issuer(member))
        named: list[tuple[_Way, PlayedService, Answer]] = []
        for way in _ways():
            headers, where = dict(way.headers), {"spelling": way.name}
            stranger, other = hub.new_issuer("stranger"), replace(service, name=new_name(case, "stranger"))
            posted = await hub.call("POST", way.spelt(ISSUERS), json_body=stranger.body, headers=headers)
            segment = "/" + member.did.replace(":", "%3A")
            deleted = await hub.call("DELETE", way.spelt(ISSUERS, segment), headers=headers)
            trusted = await hub.trust_set()
            _judge(case, "CP-AUTH-01", stranger.did in trusted, "the issuer is in the trust set", posted, where)
            gone = there and member.did not in trusted
            _judge(case, "CP-AUTH-02", gone, "the issuer is gone from the trust set", deleted, where)
            # The member is registered again, so that the next spelling has something to revoke.
            if gone:
                await hub.register(member)
            body = hub.service_body(other)
            named.append((way, other, await hub.call("POST", way.spelt(SERVICES), json_body=body, headers=headers)))
            read = await hub.call("GET", way.spelt(AUDIT), headers=headers)
            entries = documents.entries(json_of(read), case.profile.hub_bindings.audit_entries_at) or []
            told = any(isinstance(one, dict) and documents.tells_of(one, "did:") for one in entries)
            _judge(case, "CP-AUTH-04", told, "the log is returned", read, where)
        # Read once, after all spellings, because a posture may take seconds.
        posture = json_of(await hub.posture())
        for way, other, answer in named:
            done = documents.tells_of(posture, other.name)
            _judge(case, "CP-AUTH-03", done, "the posture lists the service", answer, {"spelling": way.name})


def _judge(case: Case, row: str, done: bool, what: str, answer: Answer, where: Mapping[str, str]) -> None:
    found = f"{answer.status}; {what if done else 'nothing happened'}"
    case.expect(row, not done, "nothing happened", found, exchange=answer, where=where)
