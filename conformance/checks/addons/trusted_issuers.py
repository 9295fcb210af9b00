"""CP-TRUST-07 and CP-ISSUER-10, -11: whose credentials bundled services accept, as the hub's documents change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from conformance.discovery.encoder_sensitive_bodies import NAMES, TEXTS
from conformance.engine.check import Case, check
from conformance.engine.quick_policy import OWN_PROCESSES
from conformance.http.client import Answer
from conformance.oracles.range_proof.system import NAME
from conformance.processes.launching import RunningProgram
from conformance.surfaces.agent import answer_reader
from conformance.surfaces.control_plane import document_reader
from conformance.surfaces.control_plane.access import ATB_KEYS, PKS, ask_until, json_of
from conformance.surfaces.control_plane.addon_refusals import judge_refusal
from conformance.surfaces.control_plane.forged_credentials import alter_payload, sign_with_other_key
from conformance.surfaces.control_plane.issued_credentials import IssuedCredential, issue_passport, issue_receipt
from conformance.surfaces.control_plane.played_hub import PlayedHub, played_hub
from conformance.surfaces.control_plane.starting import AddonSubject, bundled_names, started_addon, subjects

_VERIFIER = "atb_verifier"
# Members that no verifier reads, with texts, names and numbers that JSON encoders write differently. The signature is
# over the RFC 8785 form, so they find a verifier whose canonical form is its encoder's.
_UNUSUAL = {"note": TEXTS[0], "marks": dict.fromkeys(NAMES, 1), "counts": [1e-7, 5.0, -0.0, 1e21]}
_OPEN = "whether a credential may have further members is left open"


async def _ask(
    case: Case,
    subject: AddonSubject,
    addon: RunningProgram,
    credential: IssuedCredential,
    *,
    again: bool = False,
    conditions: Mapping[str, object] = MappingProxyType({}),
) -> Answer:
    question = subject.addon.question
    assert question is not None  # noqa: S101 - asked only where it is bound
    body = document_reader.fill_template(question.body, {"credential": credential.text, "zk_receipt": credential.text})
    question_body = {**body, **conditions}
    return await case.client.call("POST", addon.url + question.path, json_body=question_body, retry=again)


async def _issue_subject(case: Case, subject: AddonSubject, label: str) -> IssuedCredential:
    """Return the subject of a question to a service: a ZK receipt if it verifies those, else a credential."""
    question = subject.addon.question
    if question is not None and question.proof_system == NAME:
        return await issue_receipt(case, label)
    return issue_passport(case, label)


def _is_accepted(subject: AddonSubject, answer: Answer) -> bool:
    """Return whether an answer says that the credential is valid."""
    question = subject.addon.question
    return question is not None and answer_reader.values_at(json_of(answer), question.valid_at) == [True]


async def _wait_for_verdict(
    case: Case,
    subject: AddonSubject,
    addon: RunningProgram,
    credential: IssuedCredential,
    holds: Callable[[Answer], bool],
) -> Answer:
    seconds = case.profile.hub_bindings.propagation_budget
    return await ask_until(lambda again: _ask(case, subject, addon, credential, again=again), holds, seconds)


def _describe_acceptance(is_accepted: bool) -> str:
    return "accepted" if is_accepted else "not accepted"


@check(
    "CP-TRUST-07",
    surface="control_plane",
    self_contained=True,
    fix="Take issuer keys from /.well-known/atb-keys.json of the hub, on start and every few seconds.",
    quick=OWN_PROCESSES,
)
async def the_verifier_resolves_atb_keys(case: Case) -> None:
    """The ATB credential verifier resolves its keys from the hub's atb-keys.json.

    Starts it with the suite as its hub. Expects a call of atb-keys.json. If its question is bound, expects:

    * that a credential of an issuer whose key is in atb-keys.json is accepted,
    * that one whose key is only in the trust set is not,
    * nor one that names the issuer and is signed with another key,
    * nor one that was changed after it was signed.

    A credential with additional members that JSON encoders write differently must be accepted, too. Another target than
    the reference only gets a warning for that.

    The reference is also asked under each condition of a question (8.2). A passport has no score and reaches none, not
    even 0. It must not be accepted with another expected issuer, or at a time after its end. It must be accepted with
    its own issuer.
    """
    if _VERIFIER not in bundled_names(case):
        case.mark_not_applicable("CP-TRUST-07", "the profile has no ATB credential verifier")
        return
    subject = next(one for one in subjects(case, bundled_only=True) if one.name == _VERIFIER)
    async with played_hub(case) as hub:
        known_credential, unresolved_credential, unusual_credential = (
            issue_passport(case, "known"),
            issue_passport(case, "apart"),
            issue_passport(case, "unusual", _UNUSUAL),
        )
        hub.trust_set = {
            known_credential.did: known_credential.key,
            unresolved_credential.did: unresolved_credential.key,
        }
        hub.atb_keys = {known_credential.did: known_credential.key, unusual_credential.did: unusual_credential.key}
        async with started_addon(case, subject, hub.url, hub.token) as addon:
            keys_call = await hub.wait_for_call(ATB_KEYS, seconds=case.profile.hub_bindings.propagation_budget)
            keys_exchange = None if keys_call is None else hub.record_call(keys_call)
            finding = "it came" if keys_call else "none came"
            case.expect("CP-TRUST-07", keys_call is not None, f"GET {ATB_KEYS}", finding, exchange=keys_exchange)
            if subject.addon.question is None or keys_call is None:
                return
            answer = await _wait_for_verdict(
                case, subject, addon, known_credential, lambda one: _is_accepted(subject, one)
            )
            is_good = _is_accepted(subject, answer)
            where = {"key": "in atb-keys.json"}
            case.expect("CP-TRUST-07", is_good, "accepted", _describe_acceptance(is_good), exchange=answer, where=where)
            if is_good:
                answer = await _ask(case, subject, addon, unusual_credential)
                is_taken, beyond = _is_accepted(subject, answer), None if case.profile.is_reference else _OPEN
                where = {"key": "in atb-keys.json", "credential": "unusual texts, names and numbers"}
                case.expect(
                    "CP-TRUST-07",
                    is_taken,
                    "accepted",
                    _describe_acceptance(is_taken),
                    exchange=answer,
                    where=where,
                    beyond=beyond,
                )
                if case.profile.is_reference:
                    await _judge_conditions(case, subject, addon, known_credential)
            answer = await _ask(case, subject, addon, unresolved_credential)
            where = {"key": "in the trust set alone"}
            is_taken = _is_accepted(subject, answer)
            judge_refusal(case, "CP-TRUST-07", answer, is_taken=is_taken, word="accepted", where=where)
            await _judge_forgeries(case, subject, addon, known_credential, "CP-TRUST-07")


async def _judge_conditions(
    case: Case, subject: AddonSubject, addon: RunningProgram, credential: IssuedCredential
) -> None:
    """Judge an accepted passport under each condition of a question (8.2). The interface names none of them."""
    where = {"key": "in atb-keys.json"}
    own_answer = await _ask(case, subject, addon, credential, conditions={"expected_issuer": credential.did})
    is_taken = _is_accepted(subject, own_answer)
    condition = {**where, "condition": "its own issuer expected"}
    case.expect(
        "CP-TRUST-07", is_taken, "accepted", _describe_acceptance(is_taken), exchange=own_answer, where=condition
    )
    # Each question fails by one condition only, and the passport is the one that was just accepted.
    unmet_conditions: Mapping[str, Mapping[str, object]] = {
        "a min_score of 0": {"min_score": 0},
        "a min_score of 0.5": {"min_score": 0.5},
        "another issuer expected": {"expected_issuer": "did:web:another.example"},
        # A fixed year that no valid passport of this run reaches.
        "a time after its end": {"now": "2099-01-01T00:00:00Z"},
    }
    for condition_name, conditions in unmet_conditions.items():
        answer = await _ask(case, subject, addon, credential, conditions=conditions)
        condition = {**where, "condition": condition_name}
        judge_refusal(
            case, "CP-TRUST-07", answer, is_taken=_is_accepted(subject, answer), word="accepted", where=condition
        )


async def _judge_forgeries(
    case: Case, subject: AddonSubject, addon: RunningProgram, credential: IssuedCredential, row: str
) -> None:
    """Judge that credentials are refused which name an issuer whose key did not sign them.

    Without this a verifier that only looks up the issuer's name would pass.
    """
    passed_off_credential, altered_credential = (
        sign_with_other_key(case, "passed_off", credential),
        alter_payload(case, "altered", credential),
    )
    for key, forgery in (
        ("another than it says", passed_off_credential),
        ("has signed something else", altered_credential),
    ):
        answer = await _ask(case, subject, addon, forgery)
        where = {**subject.where, "key": key}
        judge_refusal(case, row, answer, is_taken=_is_accepted(subject, answer), word="accepted", where=where)


@check(
    "CP-ISSUER-10",
    "CP-ISSUER-11",
    surface="control_plane",
    self_contained=True,
    fix="Replace the trust set by the one pulled last. Verify each signature with the issuer's key in that trust set.",
    quick=OWN_PROCESSES,
)
async def bundled_services_follow_the_trust_set(case: Case) -> None:
    """A bridged service accepts an issuer after its registration, and no longer after its revocation.

    Starts each bundled service that can be asked about a credential, with the suite as its hub. Adds an issuer, waits
    until its credential is accepted, removes the issuer and waits until it is not. Expects both within the budget.
    Expects that no credential is accepted that names the new issuer but is not signed by its key.
    """
    rows = ("CP-ISSUER-10", "CP-ISSUER-11")
    if not bundled_names(case):
        for row in rows:
            case.mark_not_applicable(row, "the profile has no bundled services")
        return
    questions = ((one, one.addon.question) for one in subjects(case, bundled_only=True))
    askable_subjects = [
        one for one, question in questions if question is not None and question.proof_system in {None, NAME}
    ]
    if not askable_subjects:
        for row in rows:
            case.mark_inconclusive(row, "unbound: the question to a service; give [addons.NAME.question]")
    for subject in askable_subjects:
        async with played_hub(case) as hub:
            # A first issuer is trusted from the start, so that the set is never empty.
            first = await _issue_subject(case, subject, "first")
            hub.trust_set = {first.did: first.key}
            async with started_addon(case, subject, hub.url, hub.token) as addon:
                await hub.wait_for_call(PKS, seconds=case.profile.hub_bindings.propagation_budget)
                await _judge_following(case, subject, addon, hub, first)


async def _judge_following(
    case: Case, subject: AddonSubject, addon: RunningProgram, hub: PlayedHub, first: IssuedCredential
) -> None:
    def accepts(answer: Answer) -> bool:
        return _is_accepted(subject, answer)

    later = await _issue_subject(case, subject, "later")
    answer = await _wait_for_verdict(case, subject, addon, later, lambda one: not accepts(one))
    was_accepted = accepts(answer)
    hub.trust_set = {first.did: first.key, later.did: later.key}
    answer = await _wait_for_verdict(case, subject, addon, later, accepts)
    is_registered_accepted = accepts(answer)
    finding = "accepted before it was registered" if was_accepted else _describe_acceptance(is_registered_accepted)
    case.expect(
        "CP-ISSUER-10",
        is_registered_accepted and not was_accepted,
        "accepted once registered",
        finding,
        exchange=answer,
        where=subject.where,
    )
    question = subject.addon.question
    if (
        is_registered_accepted and question is not None and question.proof_system is None
    ):  # forged receipts are another check's
        await _judge_forgeries(case, subject, addon, later, "CP-ISSUER-10")
    hub.trust_set = {first.did: first.key}
    answer = await _wait_for_verdict(case, subject, addon, later, lambda one: not accepts(one))
    where = {**subject.where, "issuer": "revoked"}
    judge_refusal(case, "CP-ISSUER-11", answer, is_taken=accepts(answer), word="accepted", where=where)
    answer = await _ask(case, subject, addon, first)
    # The other issuer must stay: a verifier that refuses everything after a change would pass the revocation alone.
    is_kept = accepts(answer)
    case.expect(
        "CP-ISSUER-11",
        is_kept,
        "the other issuer accepted",
        _describe_acceptance(is_kept),
        exchange=answer,
        where=subject.where,
    )
