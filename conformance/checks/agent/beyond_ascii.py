"""Messages whose field values are not ASCII: what cannot be in a signature base is a fault of the message."""

from __future__ import annotations

from typing import Final

from conformance.assertions.agent.verdicts import describe_verdict, is_negative
from conformance.checks.agent.sign import read_demo
from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.oracles.message_signatures.message import Message
from conformance.outcome import OpenPoint
from conformance.surfaces.agent import Agent, agent_of
from conformance.surfaces.agent import subject as signed

_OPEN: Final = OpenPoint("whether a field value beyond ASCII makes a malformed request is open", "P-AG-02")
_OPEN_SIGN: Final = OpenPoint("whether a field value beyond ASCII can be signed is open", "6.5")
_SERVER_FAULT: Final = 500
_VALUES: Final = {
    "letters of Latin-1": "1. M\u00e4rz 2025",
    "letters of Japanese": "\u65e5\u672c\u8a9e",
    "an astral letter": "\U0001f9fe 7",
    "a line separator": "one\u2028two",
}


@check(
    *("AGENT-VERIFY-03", "AGENT-VERIFY-08", "AGENT-EXPLAIN-12", "AGENT-SIGN-01", "AGENT-SIGN-05"),
    surface="agent",
    fix="Treat a covered value that is not ASCII as a fault of the message: 200 and negative, and 422 at sign.",
)
async def values_beyond_ascii_break_nothing(case: Case) -> None:
    """A message with a field value beyond ASCII gets a verdict, and a request with one is signed or refused.

    Changes a covered field after signing to letters of several kinds, and sends it to verify and explain. Expects
    200 and a negative result. Asks for a signature of requests with such fields. Expects a valid signed request or 422.
    An answer of 5xx fails every agent; a refusal as malformed only warns unless the agent claims the specification.
    """
    agent = await agent_of(case)
    for name, value in _VALUES.items():
        where = {"field value": name}
        subject = signed(case, components=("@method", "date", "content-digest")).with_field("Date", value)
        answer = await agent.verify(subject)
        _judge_status(case, "AGENT-VERIFY-03", answer, where)
        if answer.status == 200:
            finding = describe_verdict(agent, answer)
            case.expect(
                "AGENT-VERIFY-08", is_negative(agent, answer), "not valid", finding, exchange=answer, where=where
            )
        _judge_status(case, "AGENT-EXPLAIN-12", await agent.explain(subject), where)
        await _judge_signing(case, agent, value, where)


def _judge_status(case: Case, row: str, answer: Answer, where: dict[str, str]) -> None:
    beyond = None if answer.status >= _SERVER_FAULT else _OPEN
    case.expect(row, answer.status == 200, "200", answer.status, exchange=answer, where=where, beyond=beyond)


async def _judge_signing(case: Case, agent: Agent, value: str, where: dict[str, str]) -> None:
    request = Message("GET", "api.example.org", "https", "/orders", (("X-Name", value),))
    answer = await agent.sign(request)
    is_answered = answer.status in {200, 422}
    beyond = None if answer.status >= _SERVER_FAULT else _OPEN_SIGN
    case.expect("AGENT-SIGN-01", is_answered, "200 or 422", answer.status, exchange=answer, where=where, beyond=beyond)
    if answer.status != 200:
        return
    demo = read_demo(case, agent, request, answer)
    key = demo.choose_key()
    faults = ["no key to verify with"] if key is None else demo.find_faults(key)
    requirement = "valid under the returned key"
    case.expect(
        "AGENT-SIGN-05", not faults, requirement, "; ".join(faults), exchange=answer, where=where, beyond=_OPEN_SIGN
    )
