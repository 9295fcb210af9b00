"""WH-DELIV-09: calls of the agent cause no webhook events."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Iterator
from typing import Any

from conformance.engine.check import Case, check
from conformance.engine.quick_policy import WAITS
from conformance.http.client import Answer
from conformance.oracles.message_signatures.digests import FIELD
from conformance.oracles.message_signatures.keys import did_key
from conformance.outcome import Inconclusive
from conformance.surfaces import json_rpc
from conformance.surfaces.agent import A2A, Agent, Subject, agent_of, answer_reader
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.gateway.orders import on_lane
from conformance.surfaces.webhooks.paid_links import deliveries, paid_links
from conformance.webhook_receiver.inbox import Received

# As long as an event of the gateway may take after its payment is seen, and as long again.
_WAIT_SECONDS = 2.0
# A shorter id may occur in any event by chance.
_SHORTEST_ID = 16
_OK = 200
_BASE64 = re.compile(r":([A-Za-z0-9+/]{40,}={0,2})")


@check(
    "WH-DELIV-09",
    surface="agent",
    fix="Let the agent answer only its caller. Send events only for payment links.",
    quick=WAITS,
)
async def the_agent_tells_nobody(case: Case) -> None:
    """The agent sends no webhook events.

    Calls verify with a valid and an invalid message, explain, sign, and message/send over A2A, while the suite receives
    at every destination. Expects no request that contains a unique text of these messages, or a signature or task id of
    the answers. As a control, an event of a paid link must have arrived at the same destinations.
    """
    # Silence proves something only at a destination that demonstrably receives events.
    control = await _find_control_event(case)
    words = tuple(await _call_every_operation(case, await agent_of(case)))
    await asyncio.sleep(_WAIT_SECONDS)
    events = [one for one in case.session.inbox.deliveries if one.mentions(words)]
    finding = f"{len(events)} requests that contain a text of it"
    case.expect("WH-DELIV-09", not events, "no event of a call", finding, exchange=events[0] if events else control)


async def _find_control_event(case: Case) -> Received:
    """Return the event of a link that was paid on the first lane on which the suite can pay.

    Raises:
        Inconclusive: No event arrived, or no lane can be paid on.
    """
    reasons = []
    for lane in case.profile.claims.lanes:
        try:
            return deliveries(case, (await paid_links(on_lane(case, lane)))[0])[0]
        except Inconclusive as reason:
            reasons.append(f"{lane}: {reason}")
    raise Inconclusive("; ".join(reasons) or "the profile claims no lane, so that nothing can be paid")


async def _call_every_operation(case: Case, agent: Agent) -> list[str]:
    """Call every operation that verifies or produces something, and return the texts that would identify its event.

    Raises:
        Inconclusive: The agent verifies nothing, so it has nothing to report.
    """
    # A random marker in path, body and nonce: an event about this message would quote one of them.
    marker = case.rng.randbytes(16).hex()
    subject = signed(
        case, target=f"/orders/{marker}", body=f'{{"order":"{marker}"}}'.encode(), parameters={"nonce": marker}
    )
    verdict = await agent.verify(subject)
    if verdict.status != _OK:
        raise Inconclusive(f"verify answers {verdict.status} to a message that holds, which AGENT-VERIFY-01 judges")
    await agent.verify(subject.with_changes(body=b"{}"))
    await agent.explain(subject)
    demo = await agent.sign(subject.with_changes(headers=()).message)
    parts: list[dict[str, Any]] = [
        {"kind": "text", "text": f"Verify the message {marker}."},
        {"kind": "data", "data": {"skill": "verify-rfc9421", "request": agent.verify_body(subject)}},
    ]
    params = json_rpc.message(parts, f"m-{marker}")
    task = await json_rpc.call(case, agent.url + A2A, "message/send", params)
    return [marker, *_list_message_words(subject), *_list_answer_words(case, demo, task)]


def _list_message_words(subject: Subject) -> Iterator[str]:
    """Yield texts that occur in this message only."""
    yield base64.b64encode(subject.message.body).decode()
    for name in ("signature", FIELD):
        yield from _BASE64.findall(subject.message.field(name) or "")
    if subject.key is not None:
        yield from (subject.key.hex(), did_key(subject.key))


def _list_answer_words(case: Case, demo: Answer, task: Answer) -> Iterator[str]:
    """Yield texts that occur in these answers only: the signature that was made, the task's id."""
    for name, value in answer_reader.signed_fields(demo.read_object()) or ():
        if name.lower() == "signature":
            yield from _BASE64.findall(value)
    task_id = json_rpc.result(task).get("id")
    if isinstance(task_id, str) and len(task_id) >= _SHORTEST_ID:
        case.client.names.name(task_id, "TASK_ID")
        yield task_id
