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
from conformance.surfaces.agent import A2A, Agent, Subject, agent_of, answers
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.gateway.orders import on_lane
from conformance.surfaces.webhooks.sales import deliveries, sales
from conformance.webhook_receiver.inbox import Received

# As long as an event of the gateway may take after its payment is seen, and as long again.
_SECONDS = 2.0
# A shorter id may occur in any event by chance.
_SHORTEST = 16
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
    control = await _control(case)
    words = tuple(await _asked(case, await agent_of(case)))
    await asyncio.sleep(_SECONDS)
    came = [one for one in case.session.inbox.received if one.tells_of(words)]
    found = f"{len(came)} requests that contain a text of it"
    case.expect("WH-DELIV-09", not came, "no event of a call", found, exchange=came[0] if came else control)


async def _control(case: Case) -> Received:
    """Return the event of a link that was paid on the first lane on which the suite can pay.

    Raises:
        Inconclusive: No event arrived, or no lane can be paid on.
    """
    reasons = []
    for lane in case.profile.claims.lanes:
        try:
            return deliveries(case, (await sales(on_lane(case, lane)))[0])[0]
        except Inconclusive as reason:
            reasons.append(f"{lane}: {reason}")
    raise Inconclusive("; ".join(reasons) or "the profile claims no lane, so that nothing can be paid")


async def _asked(case: Case, agent: Agent) -> list[str]:
    """Call every operation that verifies or produces something, and return the texts that would identify its event.

    Raises:
        Inconclusive: The agent verifies nothing, so it has nothing to report.
    """
    # A random marker in path, body and nonce: an event about this message would quote one of them.
    mark = case.rng.randbytes(16).hex()
    one = signed(case, target=f"/orders/{mark}", body=f'{{"order":"{mark}"}}'.encode(), parameters={"nonce": mark})
    verified = await agent.verify(one)
    if verified.status != _OK:
        raise Inconclusive(f"verify answers {verified.status} to a message that holds, which AGENT-VERIFY-01 judges")
    await agent.verify(one.changed(body=b"{}"))
    await agent.explain(one)
    demo = await agent.sign(one.changed(headers=()).message)
    parts: list[dict[str, Any]] = [
        {"kind": "text", "text": f"Verify the message {mark}."},
        {"kind": "data", "data": {"skill": "verify-rfc9421", "request": agent.verify_body(one)}},
    ]
    params = json_rpc.message(parts, f"m-{mark}")
    task = await json_rpc.call(case, agent.url + A2A, "message/send", params)
    return [mark, *_of_message(one), *_of_answers(case, demo, task)]


def _of_message(one: Subject) -> Iterator[str]:
    """Yield texts that occur in this message only."""
    yield base64.b64encode(one.message.body).decode()
    for name in ("signature", FIELD):
        yield from _BASE64.findall(one.message.field(name) or "")
    if one.key is not None:
        yield from (one.key.hex(), did_key(one.key))


def _of_answers(case: Case, demo: Answer, task: Answer) -> Iterator[str]:
    """Yield texts that occur in these answers only: the signature that was made, the task's id."""
    for name, value in answers.signed_fields(demo.object()) or ():
        if name.lower() == "signature":
            yield from _BASE64.findall(value)
    task_id = json_rpc.result(task).get("id")
    if isinstance(task_id, str) and len(task_id) >= _SHORTEST:
        case.client.names.name(task_id, "TASK_ID")
        yield task_id
