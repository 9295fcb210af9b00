"""Judgement of a signed message: every fault with its code, in the order of specification 6.3."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from conformance.oracles.message_signatures import digests, signature_headers
from conformance.oracles.message_signatures.algorithms import VerifyingKey
from conformance.oracles.message_signatures.base import Base, Coverage, signature_base
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
        tag: The tag that a signature must have; None for any.
        max_age: Oldest age of `created` in seconds; None for any.
        required_components: Components that must be covered, compared with their parameters.
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
    required_components: tuple[Component, ...] = ()
    require_digest: bool = True
    skew: int = SKEW_SECONDS
    allow_empty: bool = False
    parameters_as_components: bool = True


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a message is worth.

    Attributes:
        is_valid: Whether everything holds; None when there was no key, whatever else was found.
        faults: Everything found wrong, in the order of the steps.
        outcomes: signature, content_digest, created, expires, each pass, fail or skipped.
        signature: The signature looked at; None where none could be read.
        base: The signature base; None where there is no signature to make one for.
        algorithm: The algorithm applied; None where none was.
        digest: The comparison of Content-Digest; None where no signature could be read.
    """

    is_valid: bool | None
    faults: tuple[Fault, ...]
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    signature: signature_headers.LabelledSignature | None = None
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
    # A message without a readable signature has nothing else to check.
    skipped_outcomes: dict[str, Outcome] = dict.fromkeys(
        ("signature", "content_digest", "created", "expires"), "skipped"
    )
    try:
        signature = signature_headers.read(message, policy.label)
    except Refusal as refusal:
        return Judgement(None if key is None else False, (refusal.fault,), skipped_outcomes)
    coverage = signature.coverage
    base = signature_base(message, coverage, parameters_as_components=policy.parameters_as_components)
    faults = [*_coverage(coverage, base, policy)]
    timing = list(_times(coverage, policy, now))
    algorithm, algorithm_faults = _algorithm(coverage, key, policy)
    faults += [*algorithm_faults, *_tag(coverage, policy), *timing]
    if key is not None and key.rejection is not None:
        faults.append(Fault(Code.KEY_REJECTED, key.rejection))
    # The digest is compared even if the signature fails, because each fault helps to find the
    # cause.
    digest = digests.compare(message, coverage.components, is_required=policy.require_digest)
    faults += digest.faults
    # The equation is last: every fault before it is cheaper to find and easier to explain.
    holds = _equation(base, signature, key, algorithm)
    if holds is False:
        faults.append(Fault(Code.SIGNATURE_MISMATCH, "the signature is not this key's over this signature base"))
    outcomes: dict[str, Outcome] = {
        "signature": _outcome(holds),
        "content_digest": "fail" if digest.faults else _outcome(digest.match),
        "created": _time_outcome(coverage, "created", timing, {Code.CREATED_IN_FUTURE, Code.TOO_OLD}),
        "expires": _time_outcome(coverage, "expires", timing, {Code.EXPIRED}),
    }
    is_valid = None if key is None else not faults and holds is True
    return Judgement(is_valid, tuple(faults), outcomes, signature, base, algorithm, digest)


def _coverage(coverage: Coverage, base: Base, policy: Policy) -> Iterator[Fault]:
    if not coverage.components and not policy.allow_empty:
        text = "the signature covers nothing: it would fit any message"
        yield Fault(Code.EMPTY_COMPONENTS, text)
    yield from base.faults
    identities = {component.identity for component in coverage.components}
    for component in policy.required_components:
        if component.identity not in identities:
            text = f"{component} must be covered and is not"
            yield Fault(Code.REQUIRED_COMPONENT_MISSING, text, str(component))


def _algorithm(coverage: Coverage, key: VerifyingKey | None, policy: Policy) -> tuple[str | None, list[Fault]]:
    """Return the algorithm to apply, and the fault where key, signature and caller disagree (RFC 9421, 3.2 step 6).

    What is applied follows from the key: a signature only chooses among what the key is for.
    """
    alg_parameter = coverage.parameter("alg")
    stated_algorithm = str(alg_parameter) if alg_parameter is not None else None
    # RFC 9421, 3.2, step 6: the key determines the algorithm. The header `alg` is the signer's
    # word and must not choose another one.
    fits = key.algorithms if key is not None else tuple(filter(None, (stated_algorithm,))) or policy.algorithms or ()
    chosen_algorithm = next(
        (one for one in (stated_algorithm, policy.algorithm) if one in fits), next(iter(fits), None)
    )
    if stated_algorithm is not None and (
        stated_algorithm != chosen_algorithm or (policy.algorithm or stated_algorithm) != stated_algorithm
    ):
        text = f"alg is {stated_algorithm!r}, and the expected key signs {policy.algorithm or ' or '.join(fits)}"
        return chosen_algorithm, [Fault(Code.ALG_NOT_ALLOWED, text)]
    if chosen_algorithm is not None and policy.algorithms is not None and chosen_algorithm not in policy.algorithms:
        text = f"the signature is {chosen_algorithm}; allowed is {', '.join(policy.algorithms) or 'nothing'}"
        return chosen_algorithm, [Fault(Code.ALG_NOT_ALLOWED, text)]
    return chosen_algorithm, []


def _tag(coverage: Coverage, policy: Policy) -> Iterator[Fault]:
    tag = coverage.parameter("tag")
    if policy.tag is not None and tag != policy.tag:
        tag_text = "none" if tag is None else repr(tag)
        yield Fault(Code.TAG_MISMATCH, f"the tag must be {policy.tag!r}, the signature bears {tag_text}")


def _times(coverage: Coverage, policy: Policy, now: int) -> Iterator[Fault]:
    creation_time, expires = coverage.parameter("created"), coverage.parameter("expires")
    # A signature from the future could be kept for later use.
    if isinstance(creation_time, int) and creation_time > now + policy.skew:
        yield Fault(Code.CREATED_IN_FUTURE, f"created is {creation_time - now} s ahead of {now}")
    if isinstance(expires, int) and expires < now - policy.skew:
        yield Fault(Code.EXPIRED, f"expires was {now - expires} s before {now}")
    # Without `created`, the age is unknown, and a limit cannot be kept.
    if policy.max_age is not None and not isinstance(creation_time, int):
        yield Fault(Code.TOO_OLD, "an age is demanded, and the signature bears no created")
    elif policy.max_age is not None and isinstance(creation_time, int) and now - creation_time > policy.max_age:
        yield Fault(Code.TOO_OLD, f"the signature is {now - creation_time} s old, {policy.max_age} s are allowed")


def _equation(
    base: Base, signature: signature_headers.LabelledSignature, key: VerifyingKey | None, algorithm: str | None
) -> bool | None:
    if key is None or key.rejection is not None or algorithm is None or base.text is None:
        return None
    return key.verify(algorithm, signature.signature, base.text.encode("ascii"))


def _outcome(holds: bool | None) -> Outcome:
    return "skipped" if holds is None else "pass" if holds else "fail"


def _time_outcome(coverage: Coverage, name: str, faults: list[Fault], codes: set[Code]) -> Outcome:
    if any(fault.code in codes for fault in faults):
        return "fail"
    return "skipped" if coverage.parameter(name) is None else "pass"
