"""AGENT-NOTE-01: fix notes that say what makes a signature hold, if the target claims the specification (6.3)."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Final

from conformance.assertions.agent.verdicts import describe_verdict, is_negative, replace_signature
from conformance.engine.check import Case, check
from conformance.oracles.message_signatures.base import Coverage, signature_base
from conformance.oracles.message_signatures.components import Component
from conformance.surfaces.agent import Agent, Subject, agent_of, signer
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.agent.subjects import name_signature, raw_public

ROW: Final = "AGENT-NOTE-01"
_COVER: Final = ("@method", "@authority", "@path", "content-digest")
_TARGET: Final = "/shop/orders?page=2"


@check(
    ROW,
    surface="agent",
    fix="Before a note says what makes a signature hold, change the message so and verify it: a query inside @path, a "
    "prefix of a proxy. Say it next to other faults too, and say it if no single change helps.",
)
async def notes_name_what_was_tried(case: Case) -> None:
    """A fix note says what makes a signature hold if that was tried, and another note says that nothing helps.

    Signs a message with the query inside @path, one before a proxy put a prefix in front of its path, and gives each
    also a signature of another key. Expects that both are invalid, and that the notes of the two differ: one about the
    change for the first, and another for the second. Expects the note about the change next to a wrong tag as well, and
    the word query or path in it. Covers `created` as a component, and expects a note that names it.
    """
    agent = await agent_of(case)
    if not agent.has_specified_names:
        case.mark_not_applicable(ROW, "the profile binds other names than those of 6.3")
        return
    for name, signed_target, word in (
        ("the query inside @path", None, "query"),
        ("a prefix in front of the path", _TARGET.removeprefix("/shop"), "path"),
    ):
        await _judge_change(case, agent, name, _sign_target(case, signed_target), word)
    await _judge_compatibility_note(case, agent)


def _sign_target(case: Case, signed_target: str | None) -> Subject:
    """Return a message whose signature is over another path: that of a target, or (None) path and query together."""
    key = signer(case)
    subject = signed(case, key, target=_TARGET, components=_COVER)
    if signed_target is None:
        base = subject.base.replace('"@path": /shop/orders\n', f'"@path": {_TARGET}\n')
    else:
        base = subject.base.replace('"@path": /shop/orders\n', f'"@path": {signed_target.partition("?")[0]}\n')
    raw = key.sign(key.algorithms[0], base.encode())
    name_signature(case, raw)
    return replace_signature(subject, raw)


async def _judge_change(case: Case, agent: Agent, name: str, subject: Subject, word: str) -> None:
    stranger = replace_signature(subject, _sign_by_stranger(case, subject))
    where = {"message": name}
    answer = await agent.explain(subject)
    other_answer = await agent.explain(stranger)
    beside_answer = await agent.explain(subject, expected_tag="another")
    notes, other_notes = (set(agent.notes(one) or ()) for one in (answer, other_answer))
    for one in (answer, other_answer, beside_answer, await agent.verify(subject)):
        case.expect(ROW, is_negative(agent, one), "not valid", describe_verdict(agent, one), exchange=one, where=where)
    proven = {note for note in notes - other_notes if word in note.lower()}
    requirement = f"a note about {name} that a signature of another key does not get"
    case.expect(ROW, bool(proven), requirement, sorted(notes - other_notes), exchange=answer, where=where)
    requirement = "a note that no single change makes the signature hold"
    holds = bool(other_notes - notes)
    case.expect(ROW, holds, requirement, sorted(other_notes), exchange=other_answer, where=where)
    beside = set(agent.notes(beside_answer) or ())
    requirement = f"the note about {name}, next to a wrong tag"
    case.expect(ROW, bool(proven & beside), requirement, sorted(beside), exchange=beside_answer, where=where)


def _sign_by_stranger(case: Case, subject: Subject) -> bytes:
    raw = signer(case).sign("ed25519", subject.base.encode())
    name_signature(case, raw)
    return raw


async def _judge_compatibility_note(case: Case, agent: Agent) -> None:
    """Judge the note about a signature parameter that is covered as a component (P-AG-07)."""
    key = signer(case)
    plain = signed(case, key, method="GET", body=b"", components=("@method",))
    bare = plain.with_field("Signature", None).with_field("Signature-Input", None)
    created_time = (plain.parameters or {})["created"]
    coverage = Coverage((Component("@method"), Component("created")), (("created", created_time),))
    base = signature_base(bare.message, coverage, parameters_as_components=True)
    raw = key.sign("ed25519", (base.text or "").encode())
    name_signature(case, raw)
    covered = bare.with_field("Signature-Input", f"sig1={coverage}")
    covered = replace(
        covered.with_field("Signature", f"sig1=:{base64.b64encode(raw).decode()}:"), key=raw_public(key), form="hex"
    )
    answer, plain_answer = await agent.explain(covered), await agent.explain(plain)
    notes = set(agent.notes(answer) or ()) - set(agent.notes(plain_answer) or ())
    holds = any("created" in note for note in notes)
    where = {"message": "created as a component"}
    case.expect(ROW, holds, "a note that names created", sorted(notes), exchange=answer, where=where)
