"""CP-AUTH-01 to -04: paths and header fields that bypass a guard which compares another path than the router."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.surfaces.control_plane import document_reader
from conformance.surfaces.control_plane.access import AUDIT, ISSUERS, PKS, SERVICES, json_of, serving_hub
from conformance.surfaces.control_plane.services import HEALTH, PlayedService, new_name, play_service


@dataclass(frozen=True, slots=True)
class _Spelling:
    """A spelling of a path, and header fields that go with it."""

    name: str
    before: str = ""
    after: str = ""
    capitals: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)

    def spell(self, path: str, segment: str = "") -> str:
        """Return a path in this spelling. `segment` stays unchanged."""
        spelled_path = path.upper() if self.capitals else path
        return f"{self.before}{spelled_path}{segment}{self.after}"


def _list_spellings() -> Iterator[_Spelling]:
    yield _Spelling("a slash at the end", after="/")
    yield _Spelling("two slashes", before="/")
    # Some routers ignore letter case, while the guard in front of them does not.
    yield _Spelling("capitals", capitals=True)
    yield _Spelling("by way of /health", before=f"{HEALTH}/..")
    yield _Spelling("a dot segment", before="/.")
    # A guard that searches the whole URL for an open path finds it here.
    yield _Spelling("an open path in the query", after=f"?next={PKS}")
    yield _Spelling("a parameter", after=f";{HEALTH}")
    # A guard that trusts local callers believes such fields, although any client can send them.
    home = {"X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1", "Forwarded": "for=127.0.0.1;proto=https"}
    yield _Spelling("forwarded from this machine", headers=home)
    yield _Spelling("another path in a header", headers={"X-Original-URL": HEALTH, "X-Rewrite-URL": HEALTH})


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
        has_token = hub.token is not None
        if has_token:
            await stack.enter_async_context(hub.registered_issuer(member))
        service_attempts: list[tuple[_Spelling, PlayedService, Answer]] = []
        for way in _list_spellings():
            headers, where = dict(way.headers), {"spelling": way.name}
            stranger, other_service = hub.new_issuer("stranger"), replace(service, name=new_name(case, "stranger"))
            post_answer = await hub.call("POST", way.spell(ISSUERS), json_body=stranger.body, headers=headers)
            segment = "/" + member.did.replace(":", "%3A")
            delete_answer = await hub.call("DELETE", way.spell(ISSUERS, segment), headers=headers)
            trust_set = await hub.trust_set()
            _judge(case, "CP-AUTH-01", stranger.did in trust_set, "the issuer is in the trust set", post_answer, where)
            is_gone = has_token and member.did not in trust_set
            _judge(case, "CP-AUTH-02", is_gone, "the issuer is gone from the trust set", delete_answer, where)
            # The member is registered again, so that the next spelling has something to revoke.
            if is_gone:
                await hub.register(member)
            body = hub.service_body(other_service)
            service_attempts.append(
                (way, other_service, await hub.call("POST", way.spell(SERVICES), json_body=body, headers=headers))
            )
            log_answer = await hub.call("GET", way.spell(AUDIT), headers=headers)
            entries = document_reader.entries(json_of(log_answer), case.profile.hub_bindings.audit_entries_at) or []
            has_entries = any(isinstance(one, dict) and document_reader.mentions(one, "did:") for one in entries)
            _judge(case, "CP-AUTH-04", has_entries, "the log is returned", log_answer, where)
        # Read once, after all spellings, because a posture may take seconds.
        posture = json_of(await hub.posture())
        for way, other_service, answer in service_attempts:
            is_listed = document_reader.mentions(posture, other_service.name)
            _judge(case, "CP-AUTH-03", is_listed, "the posture lists the service", answer, {"spelling": way.name})


def _judge(case: Case, row: str, is_done: bool, change: str, answer: Answer, where: Mapping[str, str]) -> None:
    finding = f"{answer.status}; {change if is_done else 'nothing happened'}"
    case.expect(row, not is_done, "nothing happened", finding, exchange=answer, where=where)
