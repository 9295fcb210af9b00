"""AGENT-DOC-01: documents, card and errors of an agent that claims the specification (6.1, 6.6)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.http.client import Answer, Unreachable
from conformance.oracles.member_rules import Rule, Rules, equals, find_listed_faults, is_an, matches
from conformance.surfaces.agent import A2A, CARD, EXPLAIN, HEALTH, LANDING_PAGE, LEGACY_CARD, SIGN, VERIFY, agent_of
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.agent_cards import card_fault, find_specified_faults

ROW: Final = "AGENT-DOC-01"
_VERSION: Final = "0.1.0"
_SKILLS: Final = ["verify-rfc9421", "explain-rfc9421", "sign-demo"]
_BODY_LIMIT: Final = 262_144
_ADDRESS: Final = r"https?://[^\s]+"
_REFUSALS: Final = frozenset({404, 405, 413, 414, 415, 429, 431})


@check(
    ROW,
    surface="agent",
    fix="Publish the documents of 6.1 and the card of 6.6 with their members, write errors as "
    '{"detail":"<text>"}, send Access-Control-Allow-Origin: *, and take bodies of 262,144 bytes.',
)
async def documents_and_errors_have_each_member(case: Case) -> None:
    """The agent's documents, its card and its errors have the members that 6.1 and 6.6 give them.

    Fetches health, landing document, hint and both cards. Expects each member, and the same bytes at both cards. Calls
    unknown paths, wrong methods, with too long lines and fields, with an encoding and with too large a body: where the
    status is one of 6.1, expects a text in detail. Expects Access-Control-Allow-Origin: * of each answer, 404 and 405,
    and a verdict on a body of 262,144 bytes.
    """
    agent = await agent_of(case)
    word = case.profile.service_word
    named = matches(r"\S+-agent") if word is None else equals(f"{word.lower()}-agent")
    await _judge_document(
        case, agent.url, HEALTH, {"status": equals("ok"), "service": named, "version": equals(_VERSION)}
    )
    landing: Rules = {"name": is_an(str), "description": is_an(str), "version": is_an(str), "links": _ADDRESSES}
    await _judge_document(case, agent.url, LANDING_PAGE, landing)
    hint: Rules = {
        "hint": is_an(str),
        "method": equals("POST"),
        "url": matches(_ADDRESS + A2A),
        "card": matches(_ADDRESS + CARD),
    }
    answer = await _judge_document(case, agent.url, A2A, hint)
    url = str(answer.read_object().get("url")).removesuffix(A2A)
    faults = [] if answer.read_object().get("card") == url + CARD else ["card is at another address than url"]
    _expect(case, answer, faults, f"GET {A2A}")
    await _judge_cards(case, agent.url, word, url)
    await _judge_refusals(case, agent.url)
    members = {**agent.verify_body(signed(case)), "further": ""}
    size = len(json.dumps(members).encode())
    text = json.dumps({**members, "further": "a" * (_BODY_LIMIT - size)})
    answer = await agent.call("POST", VERIFY, body=text.encode(), headers={"content-type": "application/json"})
    faults = [] if answer.status == 200 else [f"status {answer.status}"]
    _expect(case, answer, faults, f"a body of {len(text.encode())} bytes")


_ADDRESSES: Final = Rule(
    "an object of addresses",
    lambda value: isinstance(value, Mapping) and bool(value) and all(map(matches(_ADDRESS).holds, value.values())),
)


def _expect(case: Case, answer: Answer, faults: Sequence[str], trial: str) -> None:
    # 6.1 says of every answer that pages of any origin may read it.
    origin = answer.headers.get("Access-Control-Allow-Origin")
    all_faults = [*faults, *([] if origin == "*" else [f"Access-Control-Allow-Origin {origin}"])]
    finding = "; ".join(all_faults)[:1500] or "so"
    case.expect(ROW, not all_faults, "as 6.1 says", finding, exchange=answer, where={"call": trial})


async def _judge_document(case: Case, url: str, path: str, rules: Rules) -> Answer:
    answer = await case.client.call("GET", url + path)
    document = answer.read_object()
    faults = [] if answer.status == 200 else [f"status {answer.status}"]
    _expect(case, answer, [*faults, *find_listed_faults(document, rules, "the document")], f"GET {path}")
    return answer


async def _judge_cards(case: Case, url: str, word: str | None, public_url: str) -> None:
    answers = [await case.client.call("GET", url + path) for path in (CARD, LEGACY_CARD)]
    title = "Verifiable-Comms Agent"
    named = matches(rf"\S+ {title}") if word is None else equals(f"{word} {title}")
    own_rules: Rules = {
        "name": named,
        "capabilities": Rule("streaming, pushNotifications and stateTransitionHistory false, no extensions", _is_plain),
        "skills": Rule(f"the skills {', '.join(_SKILLS)}", lambda value: _list_ids(value) == sorted(_SKILLS)),
    }
    for path, answer in zip((CARD, LEGACY_CARD), answers, strict=True):
        card = answer.read_object()
        fault = card_fault(answer, whole=True)
        faults = find_specified_faults(card, public_url + A2A, _VERSION, own_rules)
        faults += [] if fault is None else [fault]
        _expect(case, answer, faults, f"GET {path}")
    faults = [] if answers[0].body == answers[1].body else ["other bytes than the other card"]
    _expect(case, answers[1], faults, "both cards")


def _is_plain(value: Any) -> bool:
    names = ("streaming", "pushNotifications", "stateTransitionHistory")
    return (
        isinstance(value, Mapping) and all(value.get(name) is False for name in names) and not value.get("extensions")
    )


def _list_ids(value: Any) -> list[Any]:
    return sorted(str(one.get("id")) for one in value if isinstance(one, Mapping)) if isinstance(value, list) else []


async def _judge_refusals(case: Case, url: str) -> None:
    json_type = {"content-type": "application/json"}
    calls: dict[str, tuple[str, str, dict[str, Any], int | None]] = {
        "an unknown path": ("GET", "/no/such/path", {}, 404),
        "an unknown path below verify": ("POST", VERIFY + "/no-such", {"json_body": {}}, 404),
        "a verify by GET": ("GET", VERIFY, {}, 405),
        "an explain by PUT": ("PUT", EXPLAIN, {"json_body": {}}, 405),
        "a sign by DELETE": ("DELETE", SIGN, {}, 405),
        "a health by POST": ("POST", HEALTH, {"json_body": {}}, 405),
        "a body in gzip": ("POST", VERIFY, {"body": b"{}", "headers": {**json_type, "content-encoding": "gzip"}}, None),
        "a long line": ("GET", HEALTH + "?a=" + "a" * 9000, {}, None),
        "a long field": ("GET", HEALTH, {"headers": {"x-long": "a" * 17_000}}, None),
        "a large body": ("POST", VERIFY, {"body": b"a" * (_BODY_LIMIT + 1), "headers": json_type}, None),
        "a body that is no object": ("POST", VERIFY, {"body": b"[]", "headers": json_type}, 422),
    }
    for name, (method, path, options, status) in calls.items():
        try:
            answer = await case.client.call(method, url + path, **options)
        except Unreachable:
            continue  # a server may close the connection before it has read what it refuses
        faults = [] if status in {None, answer.status} else [f"status {answer.status}"]
        detail = answer.read_object().get("detail")
        if answer.status in _REFUSALS and not (isinstance(detail, str) and detail.strip()):
            faults.append(f"detail {detail!r}")
        _expect(case, answer, faults, name)
