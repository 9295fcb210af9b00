"""One judge of a signed message: every fault with its code, in the order of specification 6.3."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from conformance.oracles.message_signatures import digests, headers
from conformance.oracles.message_signatures.algorithms import VerifyingKey
from conformance.oracles.message_signatures.base import Base, Covered, signature_base
from conformance.oracles.message_signatures.components import Component
from conformance.oracles.message_signatures.digests import DigestReport
from conformance.oracles.message_signatures.faults import Code, Fault, Refusal
from conformance.oracles.message_signatures.message import Message

SKEW_SECONDS: Final = 60
Outcome = Literal["pass", "fail", "skipped"]


@dataclass(frozen=True, slots=True)
class Policy:
    """What a caller demands beyond a signature that holds.

    Attributes:
        label: The signature to judge where a message has several.
        algorithms: The algorithms allowed; None allows whatever the key is for.
        algorithm: The algorithm to use where a key fits several and the signature names none.
        tag: The tag that a signature must bear; None for any.
        max_age: Oldest age of `created` in seconds; None for any.
        required: Components that must be covered, compared with their parameters.
        require_digest: Whether a content that is not empty needs a covered Content-Digest.
        skew: Tolerance of clocks in seconds (P-AG-05).
        allow_empty: Whether a signature may cover nothing.
        parameters_as_components: See `signature_base` (P-AG-07).
    """

    label: str | None = None
    algorithms: tuple[str, ...] | None = None
    algorithm: str | None = None
    tag: str | None = None
    max_age: int | None = None
    required: tuple[Component, ...] = ()
    require_digest: bool = True
    skew: int = SKEW_SECONDS
    allow_empty: bool = False
    parameters_as_components: bool = True


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a message is worth.

    Attributes:
        valid: Whether everything holds; None when there was no key, whatever else was found.
        faults: Everything found wrong, in the order of the steps.
        checked: signature, content_digest, created, expires, each pass, fail or skipped.
        labelled: The signature looked at; None where none could be read.
        base: The signature base; None where there is no signature to make one for.
        algorithm: The algorithm applied; None where none was.
        digest: The comparison of Content-Digest; None where no signature could be read.
    """

    valid: bool | None
    faults: tuple[Fault, ...]
    checked: dict[str, Outcome] = field(default_factory=dict)
    labelled: headers.Labelled | None = None
    base: Base | None = None
    algorithm: str | None = None
    digest: DigestReport | None = None

    @property
    def codes(self) -> tuple[Code, ...]:
        """The codes of the faults."""
        return tuple(fault.code for fault in self.faults)


def judge(message: Message, key: VerifyingKey | None, policy: Policy, *, now: int) -> Judgement:
    """Judge a message. Faults of the two headers stop the work, all later ones are collected (6.3).

    Args:
        message: The message.
        key: The key that the caller expects the signer to hold; None to look without a verdict.
        policy: What is demanded.
        now: The time of judging in Unix seconds.
    """
    skipped: dict[str, Outcome] = dict.fromkeys(("signature", "content_digest", "created", "expires"), "skipped")
    try:
        labelled = headers.read(message, policy.label)
    except Refusal as refusal:
        return Judgement(None if key is None else False, (refusal.fault,), skipped)
    covered = labelled.covered
    base = signature_base(message, covered, parameters_as_components=policy.parameters_as_components)
    faults = [*_coverage(covered, base, policy)]
    timing = list(_times(covered, policy, now))
    algorithm, refused = _algorithm(covered, key, policy)
    faults += [*refused, *_tag(covered, policy), *timing]
    if key is not None and key.rejected is not None:
        faults.append(Fault(Code.KEY_REJECTED, key.rejected))
    digest = digests.compare(message, covered.components, required=policy.require_digest)
    faults += digest.faults
    holds = _equation(base, labelled, key, algorithm)
    if holds is False:
        faults.append(Fault(Code.SIGNATURE_MISMATCH, "the signature is not this key's over this signature base"))
    checked: dict[str, Outcome] = {
        "signature": _outcome(holds),
        "content_digest": "fail" if digest.faults else _outcome(digest.match),
        "created": _time_outcome(covered, "created", timing, {Code.CREATED_IN_FUTURE, Code.TOO_OLD}),
        "expires": _time_outcome(covered, "expires", timing, {Code.EXPIRED}),
    }
    valid = None if key is None else not faults and holds is True
    return Judgement(valid, tuple(faults), checked, labelled, base, algorithm, digest)


def _coverage(covered: Covered, base: Base, policy: Policy) -> Iterator[Fault]:
    if not covered.components and not policy.allow_empty:
        text = "the signature covers nothing: it would fit any message"
        yield Fault(Code.EMPTY_COMPONENTS, text)
    yield from base.faults
    identities = {component.identity for component in covered.components}
    for component in policy.required:
        if component.identity not in identities:
            text = f"{component} must be covered and is not"
            yield Fault(Code.REQUIRED_COMPONENT_MISSING, text, str(component))


def _algorithm(covered: Covered, key: VerifyingKey | None, policy: Policy) -> tuple[str | None, list[Fault]]:
    """Return the algorithm to apply, and the fault where key, signature and caller disagree (RFC 9421, 3.2 step 6).

    What is applied follows from the key: a signature only chooses among what the key is for.
    """
    named = covered.parameter("alg")
    stated = str(named) if named is not None else None
    fits = key.algorithms if key is not None else tuple(filter(None, (stated,))) or policy.algorithms or ()
    chosen = next((one for one in (stated, policy.algorithm) if one in fits), next(iter(fits), None))
    if stated is not None and (stated != chosen or (policy.algorithm or stated) != stated):
        text = f"alg is {stated!r}, and the expected key signs {policy.algorithm or ' or '.join(fits)}"
        return chosen, [Fault(Code.ALG_NOT_ALLOWED, text)]
    if chosen is not None and policy.algorithms is not None and chosen not in policy.algorithms:
        text = f"the signature is {chosen}; allowed is {', '.join(policy.algorithms) or 'nothing'}"
        return chosen, [Fault(Code.ALG_NOT_ALLOWED, text)]
    return chosen, []


def _tag(covered: Covered, policy: Policy) -> Iterator[Fault]:
    tag = covered.parameter("tag")
    if policy.tag is not None and tag != policy.tag:
        given = "none" if tag is None else repr(tag)
        yield Fault(Code.TAG_MISMATCH, f"the tag must be {policy.tag!r}, the signature bears {given}")


def _times(covered: Covered, policy: Policy, now: int) -> Iterator[Fault]:
    created, expires = covered.parameter("created"), covered.parameter("expires")
    if isinstance(created, int) and created > now + policy.skew:
        yield Fault(Code.CREATED_IN_FUTURE, f"created is {created - now} s ahead of {now}")
    if isinstance(expires, int) and expires < now - policy.skew:
        yield Fault(Code.EXPIRED, f"expires was {now - expires} s before {now}")
    if policy.max_age is not None and not isinstance(created, int):
        yield Fault(Code.TOO_OLD, "an age is demanded, and the signature bears no created")
    elif policy.max_age is not None and isinstance(created, int) and now - created > policy.max_age:
        yield Fault(Code.TOO_OLD, f"the signature is {now - created} s old, {policy.max_age} s are allowed")


def _equation(base: Base, labelled: headers.Labelled, key: VerifyingKey | None, algorithm: str | None) -> bool | None:
    if key is None or key.rejected is not None or algorithm is None or base.text is None:
        return None
    return key.verify(algorithm, labelled.signature, base.text.encode("ascii"))


def _outcome(holds: bool | None) -> Outcome:
    return "skipped" if holds is None else "pass" if holds else "fail"


def _time_outcome(covered: Covered, name: str, found: list[Fault], codes: set[Code]) -> Outcome:
    if any(fault.code in codes for fault in found):
        return "fail"
    return "skipped" if covered.parameter(name) is None else "pass"
