"""Faults put by hand into an independent agent: each is detected, at the pace that `init` writes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from conformance.oracles.message_signatures import judgement
from conformance.oracles.message_signatures.faults import Code
from conformance.oracles.message_signatures.message import Message
from conformance.outcome import Verdict
from conformance.vectors import message_signatures
from tests.conformance.checks.agent.scripted_agent import FOREIGN, Agent, Foreign, run_check
from tests.conformance.checks.trial import find_broken_rows

PACED_PROFILE = FOREIGN.replace("requests_per_second = 0.0", "requests_per_second = 10.0")
Members = dict[str, Any]


class Lines(Foreign):
    """One that takes an array of a field's lines, as Node.js gives them."""

    def request(self, request_members: Mapping[str, Any]) -> Mapping[str, Any]:
        """Read the lines of a field one by one."""
        message = request_members["message"]
        texts = dict.fromkeys(message["headers"], "")
        members = dict(super().request({**request_members, "message": {**message, "headers": texts}}))
        return {**members, "headers": dict(message["headers"])}


class Reading(Lines):
    """Reads a request differently than it was sent."""

    def __init__(self, change: Callable[[Members], Members]) -> None:
        self.change = change

    def request(self, request_members: Mapping[str, Any]) -> Mapping[str, Any]:
        """Read, and change."""
        return self.change(dict(super().request(request_members)))


class Parameterless(Lines):
    """Compares no content whose digest is covered by a parameter of the field."""

    def result(self, judged: judgement.Judgement, message: Message, *, explain: bool) -> dict[str, Any]:
        """Say of it that it holds where nothing else is wrong."""
        components = [] if judged.signature is None else judged.signature.coverage.components
        only = any(one.name == "content-digest" and one.parameters for one in components)
        reader = Blind(Code.CONTENT_DIGEST_MISMATCH) if only else Lines()
        return reader.result(judged, message, explain=explain)


class Short(Lines):
    """Compares no content beyond what it reads at once."""

    def result(self, judged: judgement.Judgement, message: Message, *, explain: bool) -> dict[str, Any]:
        """Say of a long one that it holds where nothing else is wrong."""
        reader = Blind(Code.CONTENT_DIGEST_MISMATCH) if len(message.body) > 4096 else Lines()
        return reader.result(judged, message, explain=explain)


class Blind(Lines):
    """Has no eye for some faults."""

    def __init__(self, *codes: Code) -> None:
        self.codes = set(codes)

    def result(self, judged: judgement.Judgement, message: Message, *, explain: bool) -> dict[str, Any]:
        """Say of what has these faults only that it holds."""
        other_faults = tuple(fault for fault in judged.faults if fault.code not in self.codes)
        blind = len(other_faults) < len(judged.faults) and not other_faults
        return super().result(replace(judged, is_valid=True, faults=()) if blind else judged, message, explain=explain)


def field(name: str | None, change: Callable[[str], str]) -> Callable[[Members], Members]:
    """Return what reads a field, or every one that is signed over, otherwise."""

    def read(request_members: Members) -> Members:
        headers = request_members["headers"]
        names_meant = [one for one in headers if (one.lower() == name if name else "signature" not in one.lower())]
        changed_fields = {one: change(headers[one]) for one in names_meant if isinstance(headers[one], str)}
        return {**request_members, "headers": {**headers, **changed_fields}}

    return read


def member(name: str, change: Callable[[str], str]) -> Callable[[Members], Members]:
    """Return what reads another member otherwise."""
    return lambda request_members: {**request_members, name: change(request_members[name])}


def lines(change: Callable[[list[str]], Any]) -> Callable[[Members], Members]:
    """Return what reads a field of several lines otherwise."""

    def read(request_members: Members) -> Members:
        headers = request_members["headers"].items()
        return {
            **request_members,
            "headers": {one: change(text) if isinstance(text, list) else text for one, text in headers},
        }

    return read


def _sorted_query(path: str) -> str:
    plain, mark, query = path.partition("?")
    return plain + mark + "&".join(sorted(query.split("&")))


def _key_of_keyid(request_members: Members) -> Members:
    key_match = re.search(
        r'keyid="(did:key:[^"]+|[0-9a-f]{64})"', str(request_members["headers"].get("Signature-Input"))
    )
    if key_match is None:
        return request_members
    key = "did_key" if key_match[1].startswith("did:") else "public_key_hex"
    return {name: value for name, value in request_members.items() if name not in {"did_key", "public_key_hex"}} | {
        key: key_match[1]
    }


BREACHES: Mapping[str, Foreign] = {
    "takes every signature": Blind(Code.SIGNATURE_MISMATCH),
    "takes expired signatures": Blind(Code.EXPIRED),
    "takes weak keys": Blind(Code.KEY_REJECTED),
    "never compares the content": Blind(Code.CONTENT_DIGEST_MISMATCH),
    "takes what is covered and not there": Blind(Code.MISSING_COMPONENT),
    "takes what is covered twice": Blind(Code.DUPLICATE_COMPONENT),
    "accepts unknown components": Blind(Code.UNSUPPORTED_COMPONENT),
    "takes labels that differ": Blind(Code.LABEL_MISMATCH),
    "never looks at alg": Blind(Code.ALG_NOT_ALLOWED),
    "reads Signature-Input leniently": Blind(Code.MALFORMED_SIGNATURE_INPUT),
    "reads Signature leniently": Blind(Code.MALFORMED_SIGNATURE),
    "takes what has no signature": Blind(Code.MISSING_SIGNATURE),
    "takes what says nothing of its signature": Blind(Code.MISSING_SIGNATURE_INPUT),
    "takes the key that keyid names": Reading(_key_of_keyid),
    "has methods in capitals": Reading(member("method", str.upper)),
    "has paths in lower case": Reading(member("path", str.lower)),
    "sorts the query": Reading(member("path", _sorted_query)),
    "takes a query in any case": Reading(member("path", lambda path: path.replace("Items", "items"))),
    "decodes what is reserved in a query": Reading(member("path", lambda path: path.replace("%26", "&"))),
    "drops the query": Reading(member("path", lambda path: path.partition("?")[0])),
    "drops a slash at the end": Reading(member("path", lambda path: re.sub(r"(?<=.)/(?=\?|$)", "", path))),
    "drops the port": Reading(member("authority", lambda one: one.partition(":")[0])),
    "has one scheme": Reading(member("scheme", lambda _: "https")),
    "has field values in lower case": Reading(field("content-type", str.lower)),
    "collapses spaces": Reading(field(None, lambda text: re.sub(r"\s+", " ", text))),
    "takes the first line": Reading(lines(lambda found: found[0])),
    "takes the last line": Reading(lines(lambda found: found[-1])),
    "joins lines without a space": Reading(lines(",".join)),
    "sorts lines": Reading(lines(sorted)),
    "takes equal lines for one": Reading(lines(lambda found: found[0] if len(set(found)) == 1 else found)),
    "compares no content covered by a parameter": Parameterless(),
    "compares no long content": Short(),
    "has the first bytes of the content": Reading(member("body_b64", lambda text: text[:5464])),
    "has no content": Reading(member("body_b64", lambda _: "")),
}
# What the standard leaves open or a SHOULD row judges.
ONLY_WARNED = {
    *("takes expired signatures", "takes weak keys", "reads Signature-Input leniently", "reads Signature leniently"),
    *("takes what is covered twice", "takes labels that differ"),
    *("takes the first line", "takes the last line", "joins lines without a space"),
}
# Under a body that is not bound, what is lost on the way in may be lost by that body.
TOLD_WHERE_BOUND = {"drops the query", "has no content"}
BOUND_PROFILE = (
    PACED_PROFILE
    + """
[agent]
validity_at = "report.outcome"
[agent.verify_body]
message = { method = "{method}", url = "{url}", headers = "{headers}", body_b64 = "{body_b64}" }
public_key_hex = "{public_key_hex}"
did_key = "{did_key}"
"""
)
CHECKS: tuple[str, ...] = (
    "vectors_are_judged",
    "sound_messages_are_valid",
    "wrong_signatures_are_not_valid",
    "only_what_is_covered_counts",
    "the_content_is_compared",
    "what_is_covered_is_there_once",
    "the_expected_key_decides",
)


async def found_in(look: Foreign, profile: str = PACED_PROFILE) -> dict[str, Verdict]:
    """Return the worst verdict of each row that one of the checks breaks on an agent of a look."""
    worst: defaultdict[str, set[Verdict]] = defaultdict(set)
    for check in CHECKS:
        verdicts = await run_check(check, Agent(look=look), profile)
        for row in find_broken_rows(verdicts):
            worst[row].add(verdicts[row])
    return {row: Verdict.FAIL if Verdict.FAIL in found else Verdict.WARN for row, found in worst.items()}


@pytest.mark.parametrize("look", [Foreign(), Lines()], ids=["one text a field", "lines"])
async def test_an_honest_agent_breaks_nothing(look: Foreign) -> None:
    """The control of all that follows: whether it takes an array of lines or not."""
    assert await found_in(look) == {}


@pytest.mark.parametrize("what", BREACHES)
async def test_a_breach_by_hand_is_told(what: str) -> None:
    """At ten requests a second, what the standard or the interface decides fails, and other wrong acceptance warns."""
    broken_rows = await found_in(BREACHES[what], BOUND_PROFILE if what in TOLD_WHERE_BOUND else PACED_PROFILE)
    assert broken_rows
    assert (Verdict.FAIL in broken_rows.values()) is (what not in ONLY_WARNED), broken_rows


@pytest.mark.parametrize("what", sorted(TOLD_WHERE_BOUND))
async def test_what_a_guessed_body_may_lose_breaks_nothing(what: str) -> None:
    """The body is not bound, and a message that holds is valid under no known body: every row stays open."""
    verdicts = await run_check("sound_messages_are_valid", Agent(look=BREACHES[what]), PACED_PROFILE)
    assert set(verdicts.values()) == {Verdict.INCONCLUSIVE}


async def test_vectors_are_sent_whole_at_whatever_pace() -> None:
    """Ten requests a second take longer and leave nothing out."""
    counts = []
    for profile in (FOREIGN, PACED_PROFILE):
        agent = Agent(look=Lines())
        await run_check("vectors_are_judged", agent, profile)
        counts.append(sum(call.path == "/verify/rfc9421" for call in agent.calls))
    assert counts[0] == counts[1]
    assert counts[0] > sum(one.decided_by_standard and "agent" in one.doors for one in message_signatures())
