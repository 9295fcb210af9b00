"""AGENT-HTTP and AGENT-CARD: health, landing document and cards, and operations without a credential."""

from __future__ import annotations

from typing import Any

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.surfaces.agent import (
    A2A,
    CARD,
    EXPLAIN,
    HEALTH,
    LANDING_PAGE,
    LEGACY_CARD,
    OPERATIONS,
    SIGN,
    VERIFY,
    agent_of,
)
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.agent_cards import card_fault, describe, is_json_object

_CREDENTIAL_REFUSALS = frozenset({401, 402, 403, 407})
# None, and wrong ones of three kinds: an agent must neither require a credential nor reject an unknown one.
_CREDENTIALS: tuple[dict[str, str], ...] = (
    {},
    {"Authorization": "Bearer nobody-knows-this"},
    {"Authorization": "Basic bm9ib2R5OmtuZXc="},
    {"X-Api-Key": "nobody-knows-this"},
)


@check(
    "AGENT-HTTP-01",
    "AGENT-HTTP-02",
    surface="agent",
    fix="Answer GET /health and GET / with 200, application/json and an object.",
)
async def health_and_landing_are_json(case: Case) -> None:
    """GET /health answers 200 with a JSON object, GET / with a JSON landing document.

    Requests both, twice. Expects 200 and a JSON object each time, and that the landing document is not empty.
    """
    base = case.profile.surfaces["agent"].url.rstrip("/")
    for row, path in (("AGENT-HTTP-01", HEALTH), ("AGENT-HTTP-02", LANDING_PAGE)) * 2:
        answer = await case.client.call("GET", base + path)
        holds = is_json_object(answer) and (path == HEALTH or bool(answer.read_object()))
        case.expect(row, holds, "200 with a JSON object", describe(answer), exchange=answer)


@check(
    "AGENT-CARD-01",
    "AGENT-CARD-02",
    "AGENT-CARD-03",
    surface="agent",
    fix="Serve one card at both addresses, as JSON, with the agent's name and its address.",
)
async def cards_name_the_agent(case: Case) -> None:
    """Both card addresses answer 200 with a JSON agent card, and the two name the same agent.

    Fetches /.well-known/agent-card.json and /.well-known/agent.json. Expects an object with a name each time, and the
    same name, address and version on both. On a target with the profile's own defaults, each card must have all members
    that A2A 0.3.0 requires, of the right types.
    """
    base = case.profile.surfaces["agent"].url.rstrip("/")
    cards = []
    for row, path in (("AGENT-CARD-01", CARD), ("AGENT-CARD-02", LEGACY_CARD)):
        answer = await case.client.call("GET", base + path)
        # The whole schema of A2A binds only the reference; the interface asks of others for a card with a name.
        fault = card_fault(answer, whole=case.profile.is_reference)
        case.expect(row, fault is None, "200 with a JSON agent card", fault, exchange=answer)
        cards.append(answer.read_object())
    values_by_name = {name: (cards[0].get(name), cards[1].get(name)) for name in ("name", "url", "version")}
    differences = [
        f"{name}: {one!r} and {other!r}" for name, (one, other) in values_by_name.items() if _differ(one, other)
    ]
    if not cards[0].get("name") or not cards[1].get("name"):
        differences.append("a card without a name")
    case.expect("AGENT-CARD-03", not differences, "the same agent on both cards", differences)


def _differ(first: Any, second: Any) -> bool:
    """Return whether both cards have a member with different values. An old card may lack a member of the new one."""
    return first is not None and second is not None and first != second


@check(
    "AGENT-HTTP-03",
    surface="agent",
    fix="Require no credential on any operation, and ignore those that are sent.",
)
async def nobody_needs_a_credential(case: Case) -> None:
    """No operation of the agent requires a credential.

    Calls all nine operations without a credential, and with unknown credentials. Expects neither 401, 402, 403 nor 407
    from any.
    """
    agent = await agent_of(case)
    subject = signed(case)
    bodies = {
        VERIFY: agent.verify_body(subject),
        EXPLAIN: agent.explain_body(subject),
        SIGN: agent.sign_body(subject.message),
        A2A: {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "none"}},
    }

    # All operations with all credentials at the same time, because they do not depend on each other.
    async def judge_call(method: str, path: str, credentials: dict[str, str]) -> None:
        body = bodies.get(path) if method == "POST" else None
        answer = await agent.call(method, path, json_body=body, headers=credentials)
        where = {"operation": f"{method} {path}", "credential": next(iter(credentials), "none")}
        holds = answer.status not in _CREDENTIAL_REFUSALS and answer.status < 500
        case.expect("AGENT-HTTP-03", holds, "an answer", answer.status, exchange=answer, where=where)

    await run_concurrently(judge_call(method, path, subject) for method, path in OPERATIONS for subject in _CREDENTIALS)
