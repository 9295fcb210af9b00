"""Bodies that are not bound: the content's member is discovered, or named as the key to bind; no agent fails for it."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from conformance.log.events import EventLog
from conformance.oracles.message_signatures import judgement
from conformance.oracles.message_signatures.message import Message
from conformance.outcome import NOT_TRIED, Verdict
from conformance.surfaces.agent import VERIFY
from conformance.surfaces.agent.templates import find_lost_part
from tests.conformance.checks.agent.scripted_agent import FOREIGN, Agent, Call, Foreign, Reply, run_check
from tests.conformance.checks.agent.test_agent_probing import probe_scripted
from tests.conformance.checks.trial import find_broken_rows, run_one_check


class Stranger(Foreign):
    """One that says `accepted` and `problems`, and takes the content under a name of its own."""

    def __init__(self, content: str, *, said: Mapping[str, Any] | None = None) -> None:
        self.content = content
        self.said = said or {}

    def request(self, request_members: Mapping[str, Any]) -> Mapping[str, Any]:
        """Read `{"message": {"method", "url", "headers", CONTENT}, "public_key_hex" or "did_key"}`."""
        message = {**request_members["message"], "body_b64": request_members["message"].get(self.content, "")}
        return super().request({**request_members, "message": message})

    def result(self, judged: judgement.Judgement, message: Message, *, explain: bool) -> dict[str, Any]:
        """Return `{"accepted", "problems"}`."""
        report = super().result(judged, message, explain=explain)["report"]
        return {**self.said, "accepted": bool(judged.is_valid), "problems": report["problems"]}


def stranger(content: str, *, documented: str | None = None, said: Mapping[str, Any] | None = None) -> Agent:
    """Return an agent of the stranger, its document with the body's schema where `documented` names the content."""
    names = ("method", "url", "status", "headers", *([] if documented is None else [documented]))
    kinds = {name: {"type": "object" if name == "headers" else "string"} for name in names}
    members = {"message": {"$ref": "#/components/schemas/M"}, "public_key_hex": {"type": "string"}, "did_key": {}}
    schema = {"type": "object", "properties": members}

    def change_reply(call: Call, reply: Reply) -> Reply:
        if call.path == "/openapi.json" and documented is not None:
            reply.document["components"] = {"schemas": {"M": {"type": "object", "properties": kinds}}}
            body = {"content": {"application/json": {"schema": schema}}}
            reply.document["paths"][VERIFY]["post"]["requestBody"] = body
        return reply

    return Agent(change_reply, Stranger(content, said=said))


@pytest.mark.parametrize(("content", "documented"), [("content", None), ("content", "content"), ("octets", "octets")])
async def test_the_member_of_the_content_is_found(content: str, documented: str | None) -> None:
    """By a usual name, and by whatever name the document gives it: nothing of an honest agent is broken."""
    discovery = await probe_scripted(stranger(content, documented=documented))
    assert discovery is not None
    assert discovery.bindings["verify_body"]["message"][content] == "{body_b64}"
    assert (discovery.bindings["validity_at"], discovery.bindings["errors_at"]) == ("accepted", "problems")
    for check in ("sound_messages_are_valid", "the_content_is_compared"):
        verdicts = await run_check(check, stranger(content, documented=documented), FOREIGN)
        assert set(verdicts.values()) == {Verdict.PASS}


async def test_a_member_that_nobody_tells_is_named_and_nothing_is_broken() -> None:
    """Messages without content hold under the guess, and with it none does: the content's member is to be bound."""
    for said in ({}, {"ok": True}):
        agent = stranger("octets", said=said)
        assert set((await run_check("sound_messages_are_valid", agent, FOREIGN)).values()) == {Verdict.INCONCLUSIVE}
        discovery = await probe_scripted(agent)
        assert discovery is not None
        assert discovery.bindings == {"openapi_path": "/openapi.json"}
        assert discovery.open_question is not None
        assert "the content's member in `verify_body`" in discovery.open_question


async def test_a_body_under_which_nothing_holds_judges_nobody() -> None:
    """The body is accepted and every message is refused: the lost part is unknown, and `verify_body` is named."""

    class Lost(Stranger):
        def request(self, request_members: Mapping[str, Any]) -> Mapping[str, Any]:
            return {**super().request(request_members), "path": "/elsewhere"}

    agent = Agent(look=Lost("content"))
    discovery = await probe_scripted(agent)
    assert discovery is not None
    assert discovery.open_question is not None
    assert "verify_body" in discovery.open_question
    assert not find_broken_rows(await run_check("sound_messages_are_valid", agent, FOREIGN))


async def test_a_bound_body_that_loses_the_content_is_named_too() -> None:
    """If the member for validity is not bound, no answer is read; the gap of the body is reported."""
    binding = (
        FOREIGN
        + """
[agent.verify_body]
message = { method = "{method}", url = "{url}", headers = "{headers}" }
public_key_hex = "{public_key_hex}"
did_key = "{did_key}"
"""
    )
    verdicts = await run_check("sound_messages_are_valid", stranger("content"), binding)
    assert set(verdicts.values()) == {Verdict.INCONCLUSIVE}


class Textual(Stranger):
    """One that takes the content as text, and has no member for other content."""

    def request(self, request_members: Mapping[str, Any]) -> Mapping[str, Any]:
        """Read the text of `content` as its bytes in UTF-8."""
        text = request_members["message"].get(self.content, "")
        base64_text = base64.b64encode(text.encode()).decode()
        return super().request(
            {**request_members, "message": {**request_members["message"], self.content: base64_text}}
        )

    def result(self, judged: judgement.Judgement, message: Message, *, explain: bool) -> dict[str, Any]:
        """Return base, digest and notes as well."""
        report = Foreign.result(self, judged, message, explain=explain)
        return {**report, **super().result(judged, message, explain=explain)}


TEXTUAL = f"""{FOREIGN}
[agent]
validity_at = "accepted"
errors_at = "problems"
[agent.verify_body]
public_key_hex = "{{public_key_hex}}"
did_key = "{{did_key}}"
[agent.verify_body.message]
method = "{{method}}"
url = "{{url}}"
headers = "{{headers}}"
content = "{{body}}"
"""


@pytest.mark.parametrize("check", ["vectors_are_judged", "explanations_recompute_the_digest"])
async def test_content_that_is_no_text_is_not_sent_to_an_agent_that_takes_text(check: str) -> None:
    """It would arrive as other content, and a correct agent would say that its digest is wrong."""
    agent = Agent(look=Textual("content"))
    log = EventLog()
    assert find_broken_rows(await run_one_check(check, agent, TEXTUAL, log=log)) == set()
    bodies = [event["request"]["body"] for event in log.of("exchange")]
    assert bodies
    assert not any("\\ufffd" in json.dumps(body) for body in bodies)
    skipped_trials = [event["where"][NOT_TRIED] for event in log.of("judgement") if NOT_TRIED in event["where"]]
    assert skipped_trials
    assert all("content that is no text: give it as {body_b64}" in text for text in skipped_trials)


def test_what_a_body_cannot_carry() -> None:
    """Text carries what is UTF-8, whatever control characters are in it."""
    message = Message(method="POST", authority="a.example", target="/x", headers=(), body=b"\x00\xc3\xa9")
    text, binary = {"message": {"content": "{body}"}}, replace(message, body=b"\xff")
    assert find_lost_part(text, message) is None
    assert find_lost_part(text, binary) == "content that is no text: give it as {body_b64}"
    assert find_lost_part({**text, "raw": ["{body_b64}"]}, binary) is None
    assert find_lost_part({"message": {"url": "{url}"}}, binary) is None
