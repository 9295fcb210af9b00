"""CP-ADDON-08 of the ZK receipt service: if its profile claims a proof system, it rejects forged proofs."""

from __future__ import annotations

from conformance.engine.check import Case, check
from conformance.engine.quick_policy import OWN_PROCESSES
from conformance.http.client import Answer
from conformance.oracles.range_proof.making import Forgery
from conformance.oracles.range_proof.system import NAME
from conformance.processes.launching import RunningProgram
from conformance.surfaces.agent import answer_reader
from conformance.surfaces.control_plane import document_reader
from conformance.surfaces.control_plane.access import ask_until, json_of
from conformance.surfaces.control_plane.addon_refusals import judge_refusal
from conformance.surfaces.control_plane.issued_credentials import IssuedCredential, issue_receipt, spoil_receipt
from conformance.surfaces.control_plane.played_hub import played_hub
from conformance.surfaces.control_plane.starting import AddonSubject, bundled_names, started_addon, subjects

_ROW = "CP-ADDON-08"


@check(
    _ROW,
    surface="control_plane",
    self_contained=True,
    fix="Verify signature and proof of every receipt: encodings, subgroup, both equations, the inner product on w*U.",
    quick=OWN_PROCESSES,
)
async def forged_receipts_are_refused(case: Case) -> None:
    """A bundled ZK receipt service accepts a receipt whose score reaches its threshold, and no forged proof.

    Only if the profile claims the proof system `bulletproofs-ed25519/1`. Starts the service with the suite as its hub,
    and sends receipts of trusted issuers. One is honest. Some are forged so that they are valid only for a verifier
    that leaves out one step. Some are the honest one with a change: for another payment, with a scalar that is not
    reduced, with one more byte, without its issuer's signature. Expects that only the first is valid.
    """
    names = bundled_names(case)
    claiming_subjects = [one for one in subjects(case, bundled_only=True) if _claims(one)] if names else []
    if not claiming_subjects:
        case.mark_not_applicable(_ROW, f"the profile claims no service that verifies {NAME}")
    for subject in claiming_subjects:
        async with played_hub(case) as hub:
            honest = await issue_receipt(case, "honest")
            forgeries = {
                f"lives without {one.value}": await issue_receipt(case, one.name.lower(), one) for one in Forgery
            }
            forgeries |= await spoil_receipt(case, honest)
            # The issuers of the forgeries are trusted as well, so that only the proof can be the reason for a refusal.
            hub.trust_set = {one.did: one.key for one in (honest, *forgeries.values())}
            async with started_addon(case, subject, hub.url, hub.token) as addon:
                await _judge_receipts(case, subject, addon, honest, forgeries)


def _claims(subject: AddonSubject) -> bool:
    question = subject.addon.question
    return question is not None and question.proof_system == NAME


async def _judge_receipts(
    case: Case,
    subject: AddonSubject,
    addon: RunningProgram,
    honest: IssuedCredential,
    forgeries: dict[str, IssuedCredential],
) -> None:
    question = subject.addon.question
    assert question is not None  # noqa: S101 - claimed

    def is_valid(answer: Answer) -> bool:
        return answer_reader.values_at(json_of(answer), question.valid_at) == [True]

    async def ask(receipt: IssuedCredential, *, again: bool = False) -> Answer:
        body = document_reader.fill_template(question.body, {"zk_receipt": receipt.text})
        return await case.client.call("POST", addon.url + question.path, json_body=body, retry=again)

    budget = case.profile.hub_bindings.propagation_budget
    answer = await ask_until(lambda again: ask(honest, again=again), is_valid, budget)
    finding = "valid" if is_valid(answer) else "not valid"
    case.expect(_ROW, is_valid(answer), "an honest receipt valid", finding, exchange=answer, where=subject.where)
    for forgery, receipt in forgeries.items():
        answer = await ask(receipt)
        where = {**subject.where, "forgery": forgery}
        judge_refusal(case, _ROW, answer, is_taken=is_valid(answer), word="valid", where=where)
