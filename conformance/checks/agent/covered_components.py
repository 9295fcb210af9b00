"""AGENT-VERIFY-01, -08 to -10 and -12 to -14: what a signature covers, and whether it is present."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from conformance.assertions.agent.verdicts import FIX, describe_verdict, is_negative, judge_verdicts, replace_signature
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.oracles.message_signatures import structured
from conformance.oracles.message_signatures.components import Component
from conformance.oracles.message_signatures.digests import digest_value
from conformance.surfaces.agent import Agent, Subject, agent_of, signer
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.agent.subjects import BODY, FIELDS, TARGET, name_signature

# Bytes. Longer than a network packet and than usual read buffers, so that the content arrives in several pieces.
_LONG_BYTES = 30_000
_LONG_BODY = b'{"text":"' + b"a" * (_LONG_BYTES - 11) + b'"}'
_TOO_LARGE = 413


@check("AGENT-VERIFY-08", "AGENT-VERIFY-09", surface="agent", fix=FIX)
async def only_what_is_covered_counts(case: Case) -> None:
    """A changed method, path, query, authority or covered field makes the result negative; an uncovered one does not.

    Signs one message over all of these and changes one of them after the signing, in several ways. Expects a negative
    result. Expects that it stays valid when an uncovered field is changed, added or removed.
    """
    agent = await agent_of(case)
    cover = ("@method", "@authority", "@path", "@query", "content-type", "x-list", "content-digest")
    # Two lines of one field: the signature covers their order and number, which a map of fields loses.
    fields = (*FIELDS, ("X-List", "a"), ("X-List", "b"))
    subject = signed(case, fields=fields, components=cover)
    single = signed(case, fields=(*FIELDS, ("X-List", "a")), components=cover)
    equal = signed(case, fields=(*FIELDS, ("X-List", "a"), ("X-List", "a")), components=cover)
    changes = {
        "method": subject.with_changes(method="PUT"),
        # Methods are case-sensitive (RFC 9110, 9.1), so this is another method.
        "method in lower case": subject.with_changes(method="post"),
        "authority": subject.with_changes(authority="api.example.com"),
        "authority with a port": subject.with_changes(authority="api.example.org:8443"),
        "path": subject.with_changes(target=TARGET.replace("/7", "/8")),
        "path in capitals": subject.with_changes(target=TARGET.replace("orders", "Orders")),
        "path with a slash at its end": subject.with_changes(target=TARGET.replace("?", "/?")),
        "query": subject.with_changes(target=TARGET.replace("page=2", "page=3")),
        "query left out": subject.with_changes(target=TARGET.partition("?")[0]),
        "query in capitals": subject.with_changes(target=TARGET.replace("items", "Items")),
        # A reserved character and its percent-encoding are not equivalent (RFC 9110, 4.2.3).
        "query with an encoded ampersand": subject.with_changes(target=TARGET.replace("&", "%26")),
        "query in another order": subject.with_changes(target="/orders/7?page=2&expand=items"),
        "a covered field": subject.with_field("Content-Type", "text/plain"),
        "a covered field's second line": subject.with_field("X-List", "a"),
        "a covered field's lines exchanged": _exchange_lines(subject),
        "a covered field's letter case": subject.with_field("Content-Type", "Application/JSON"),
        "a line equal to the one that is covered, added": _add_equal_line(single),
        "one of two equal covered lines taken away": equal.with_field("X-List", "a"),
    }
    # The unchanged messages first: only if they are valid, the negative results below mean anything.
    await judge_verdicts(case, agent, "AGENT-VERIFY-09", {"nothing": subject, "nothing, one line": single}, valid=True)
    await judge_verdicts(case, agent, "AGENT-VERIFY-08", changes, valid=False)
    await judge_verdicts(case, agent, "AGENT-VERIFY-09", _change_uncovered(case), valid=True)


def _add_equal_line(subject: Subject) -> Subject:
    return subject.with_changes(headers=(*subject.message.headers, ("X-List", subject.message.field("x-list") or "")))


def _exchange_lines(subject: Subject) -> Subject:
    other_fields = tuple(pair for pair in subject.message.headers if pair[0] != "X-List")
    return subject.with_changes(headers=(*other_fields, ("X-List", "b"), ("X-List", "a")))


def _change_uncovered(case: Case) -> dict[str, Subject]:
    subject = signed(case, components=("@method", "@authority", "@path", "content-digest"))
    return {
        "Accept changed": subject.with_field("Accept", "text/html"),
        "Date taken away": subject.with_field("Date", None),
        "a field added": subject.with_field("X-Forwarded-For", "192.0.2.7"),
        "the query changed": subject.with_changes(target="/orders/7?page=9"),
    }


@check(
    "AGENT-VERIFY-01",
    "AGENT-VERIFY-10",
    surface="agent",
    fix="Compare the whole content with every digest that Content-Digest gives, however the signature covers it.",
)
async def the_content_is_compared(case: Case) -> None:
    """A body that does not match a covered Content-Digest makes the result negative.

    Signs messages with a digest of sha-256, sha-512 and both, and changes the body afterwards, also to nothing. Signs
    digests of another body. Covers the field by one of its members (`key`), or as bytes (`bs`). Changes the last byte
    of a long body, which is valid unchanged. Expects a negative result for all others. If one of two digests is right,
    a breach only warns.
    """
    agent = await agent_of(case)
    subjects: dict[str, Subject] = {}
    for algorithm in ("sha-256", "sha-512"):
        subject = signed(case, algorithm=algorithm)
        await agent.verify(subject)
        subjects |= {
            f"{algorithm}, another body": subject.with_changes(body=BODY.replace(b"7", b"8")),
            f"{algorithm}, one byte more": subject.with_changes(body=BODY + b"\n"),
            f"{algorithm}, no body": subject.with_changes(body=b""),
        }
    subjects |= _covered_by_parameters(case)
    cover = ("@method", "content-digest")
    # An empty body's digest is constant, so a verifier that digests the wrong thing may accept it.
    empty = (("Content-Digest", digest_value(b"", "sha-256")),)
    subjects["the digest of an empty body"] = signed(case, fields=empty, algorithm=None, components=cover)
    two_digests = digest_value(BODY, "sha-256") + ", " + digest_value(b"other", "sha-512")
    # RFC 9530 lets a recipient ignore a digest, so accepting this message is no sure breach.
    half_right = {
        "one digest right, one wrong": signed(
            case, fields=(("Content-Digest", two_digests),), algorithm=None, components=cover
        )
    }
    await judge_verdicts(case, agent, "AGENT-VERIFY-10", subjects, valid=False)
    open_point = "a recipient may ignore any digest of several (RFC 9530 section 2)"
    await judge_verdicts(case, agent, "AGENT-VERIFY-10", half_right, valid=False, beyond=open_point)
    await _judge_long_content(case, agent)


def _covered_by_parameters(case: Case) -> dict[str, Subject]:
    """Return messages whose digest is covered by a parameter of the field, with a body changed after the signing."""
    parameters: Mapping[str, structured.Parameters] = {
        "by its member": (("key", "sha-256"),),
        "as bytes": (("bs", True),),
    }
    return {
        f"a digest that is covered {how}, another body": signed(
            case, components=("@method", Component("content-digest", component_parameters))
        ).with_changes(body=BODY.replace(b"7", b"8"))
        for how, component_parameters in parameters.items()
    }


async def _judge_long_content(case: Case, agent: Agent) -> None:
    """Judge content that arrives in several pieces: valid unchanged, and invalid with another last byte."""
    long_subjects = {
        f"{_LONG_BYTES} bytes, {one}": signed(case, body=_LONG_BODY, algorithm=one) for one in ("sha-256", "sha-512")
    }
    if not agent.is_reference and (await agent.verify(next(iter(long_subjects.values())))).status == _TOO_LARGE:
        case.mark_not_applicable("AGENT-VERIFY-01", f"a body of {_LONG_BYTES} bytes is answered 413")
        return
    await judge_verdicts(case, agent, "AGENT-VERIFY-01", long_subjects, valid=True)
    changed_subjects = {
        f"{what}, the last one changed": one.with_changes(body=_LONG_BODY[:-1] + b"]")
        for what, one in long_subjects.items()
    }
    await judge_verdicts(case, agent, "AGENT-VERIFY-10", changed_subjects, valid=False)


@check("AGENT-VERIFY-12", "AGENT-VERIFY-13", "AGENT-VERIFY-14", surface="agent", fix=FIX)
async def what_is_covered_is_there_once(case: Case) -> None:
    """Different labels, a missing covered component, and one that is covered twice make the result negative.

    Gives the two header fields different labels, one of them an additional label, removes covered fields, and covers a
    component twice under an otherwise correct signature. Expects 200 with a negative result, never 5xx. For the labels
    422 passes, too.
    """
    agent = await agent_of(case)
    subject = signed(case, components=("@method", "content-type", "date", "content-digest"))
    field = subject.message.field("signature") or ""
    labels = {
        "the signature's label is another": subject.with_field("Signature", field.replace("sig1=", "sig2=")),
        "the signature's label is longer": subject.with_field("Signature", field.replace("sig1=", "sig1x=")),
        "one more signature, under another label": subject.with_field("Signature", f"{field}, other=:AAAA:"),
    }
    for message_name, answer in zip(labels, await run_concurrently(map(agent.verify, labels.values())), strict=True):
        # Whether such header fields are malformed is open (C-08), so another target than the reference may answer 422.
        grey = answer.status == 422 and not agent.is_reference
        holds = grey or is_negative(agent, answer)
        where = {"message": message_name}
        case.expect(
            "AGENT-VERIFY-12", holds, "not valid", describe_verdict(agent, answer), exchange=answer, where=where
        )
    incomplete = {
        f"without {name}": subject.with_field(name, None) for name in ("Content-Type", "Date", "Content-Digest")
    }
    answers = await judge_verdicts(case, agent, "AGENT-VERIFY-13", incomplete, valid=False)
    for message_name, answer in zip(incomplete, answers, strict=True):
        errors = agent.errors(answer)
        if errors is not None:
            requirement = "an error"
            case.expect(
                "AGENT-VERIFY-13", bool(errors), requirement, errors, exchange=answer, where={"message": message_name}
            )
    await judge_verdicts(case, agent, "AGENT-VERIFY-14", _cover_twice(case), valid=False)


def _cover_twice(case: Case) -> dict[str, Subject]:
    """Return messages whose signature covers a component twice, signed over the base that this would give."""
    return {
        "a derived component twice": _sign_twice(case, ("@method", "@path"), "@method"),
        "a field twice": _sign_twice(case, ("@method", "date"), "date"),
    }


def _sign_twice(case: Case, cover: Iterable[str], repeated_name: str) -> Subject:
    key = signer(case)
    subject = signed(case, key, method="GET", body=b"", components=tuple(cover))
    identifier = str(Component(repeated_name))
    lines = subject.base.splitlines()
    line = next(text for text in lines if text.startswith(identifier + ":"))
    parameters = lines[-1].replace("(", f"({identifier} ", 1)
    base = "\n".join([line, *lines[:-1], parameters])
    # The signature is correct for this base. So a verifier that does not look for repeated components finds it valid.
    raw = key.sign(key.algorithms[0], base.encode())
    name_signature(case, raw)
    parameter_text = parameters.partition(": ")[2]
    return replace_signature(subject.with_field("Signature-Input", f"sig1={parameter_text}"), raw)
