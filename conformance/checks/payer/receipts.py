"""PAYER-RCPT: a payer keeps its receipt, and reports one that does not fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.engine.check import Case, check
from conformance.oracles.hash_recipes import sha256_hex
from conformance.oracles.jose import tokens_in
from conformance.surfaces.payer.played_rail import Script, read_json, serve, serve_receipt_elsewhere, stay_silent
from conformance.surfaces.payer.quotes import DID, JWKS, Change, new_signer
from conformance.surfaces.payer.scenes import (
    NEEDS_MORE,
    Outcome,
    Scene,
    cite_last_call,
    perform_each,
    require_honest_call,
)

_OTHER_HASH = f"sha256:{sha256_hex(b'another call')}"


@check(
    "PAYER-RCPT-01",
    surface="payer",
    lane="each",
    fix="Print the paid answer, or the receipt in it, on standard output.",
    needs_more=NEEDS_MORE,
)
async def hands_over_the_receipt(case: Case) -> None:
    """The receipt of a paid call is in the standard output of the payer.

    Plays an honest call, and one whose payer is killed when its proof arrives and started again. Expects the compact
    JWS of the answer in the output of the last run.
    """
    continued = Scene(script=Script(steps=(stay_silent, serve)), runs=2, kill_at="proof")
    scenes = {"an honest call": await require_honest_call(case)}
    scenes |= await perform_each(case, {"a continued call": continued})
    for scene, outcome in scenes.items():
        # What a call that is not served costs is judged by PAYER-ONCE-09.
        if outcome.is_served:
            printed = outcome.endings[-1].stdout
            case.expect(
                "PAYER-RCPT-01",
                any(text in printed for text in _list_receipts(outcome)),
                "the receipt in the standard output",
                f"{len(printed)} characters without it",
                exchange=cite_last_call(outcome),
                where={"scene": scene},
            )


def _list_receipts(outcome: Outcome) -> list[str]:
    replies = [outcome.rail.reply_to(one.arrival) for one in outcome.presentations]
    bodies = [reply.body for reply in replies if reply is not None and reply.status == 200]
    return [text for body in bodies for _, text in tokens_in(read_json(body), {})]


def _claims(**members: Any) -> Change:
    return lambda claims: {**claims, **members}


def _name_other_payment_once(claims: dict[str, Any]) -> dict[str, Any]:
    others = {name: value for name, value in claims.items() if name != "payment_reference_hash"}
    return {**others, "settled_payment_ref": _OTHER_HASH}


def _leave_out_request_hash(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "extra": {name: value for name, value in entry["extra"].items() if name != "request_hash"}}


def _without_receipt(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "payable_receipt"}


async def _expect_report(case: Case, row: str, scripts: dict[str, Script], continued: str) -> None:
    """Play scenes whose answer is 200 with a receipt that does not fit, and judge that the payer reports it.

    The script with the name `continued` is also played for a payer that was killed before it got its answer.
    """
    await require_honest_call(case)
    scenes = {name: Scene(script=script) for name, script in scripts.items()}
    late = replace(scripts[continued], steps=(stay_silent, *(scripts[continued].steps or (serve,))))
    scenes[f"{continued}, in a continued call"] = Scene(script=late, runs=2, kill_at="proof")
    for name, outcome in (await perform_each(case, scenes, also_over_a2a=len(scripts))).items():
        endings = [one for one in outcome.endings if not one.is_killed]
        case.expect(
            row,
            bool(endings) and all(one.code not in {None, 0} for one in endings) and outcome.has_paid_at_most_once,
            "an exit code other than 0, and no second payment",
            outcome.story,
            exchange=cite_last_call(outcome),
            where={"scene": name},
        )


@check(
    "PAYER-RCPT-02",
    surface="payer",
    lane="each",
    fix="Verify the receipt's signature against the rail's published keys, and report a failure.",
    needs_more=NEEDS_MORE,
)
async def reports_a_receipt_that_does_not_verify(case: Case) -> None:
    """A receipt that does not verify against the published keys, or is missing, makes the payer report a failure.

    Signs the receipt with a key that is not published, and with a published one that its header does not name. Leaves
    it out, also for a payer that was killed and started again, and puts it into header fields and other members.
    Publishes no key set or an empty one. Expects an exit code other than 0.
    """
    other = new_signer()

    def publish_both(documents: dict[str, Any]) -> dict[str, Any]:
        return {**documents, JWKS: {"keys": [other.jwk, *documents[JWKS]["keys"]]}}

    scripts = {
        "a receipt of another key": Script(signer=new_signer()),
        # The header of the receipt names the other of the two keys.
        "a receipt of a published key that its header does not name": Script(signer=other, documents=publish_both),
        "no receipt": Script(paid=_without_receipt),
        "a receipt in header fields and other members": Script(steps=(serve_receipt_elsewhere,)),
        "no key documents": Script(documents=lambda _: {}),
        "an empty key set": Script(documents=lambda documents: {**documents, JWKS: {"keys": []}, DID: {}}),
    }
    await _expect_report(case, "PAYER-RCPT-02", scripts, "no receipt")


@check(
    "PAYER-RCPT-03",
    surface="payer",
    lane="each",
    fix="Compare the receipt's hashes with the request, the answer and the payment that you made.",
    needs_more=NEEDS_MORE,
)
async def reports_a_receipt_of_another_call(case: Case) -> None:
    """A receipt that binds another request, answer or payment makes the payer report a failure.

    Signs receipts with one other hash each, one of them also in a continued call and one for a challenge without
    `request_hash`, and one for another payment without `payment_reference_hash`. Serves another answer than the receipt
    and the answer's own hash bind. Expects an exit code other than 0.
    """
    scripts = {
        "of another request": Script(claims=_claims(request_hash=_OTHER_HASH)),
        # A payer knows its own request, whatever the challenge contains.
        "of another request, to a challenge without request_hash": Script(
            entry=_leave_out_request_hash, claims=_claims(request_hash=_OTHER_HASH)
        ),
        "of another answer": Script(claims=_claims(response_hash=_OTHER_HASH)),
        "with another answer": Script(paid=lambda answer: {**answer, "result": {"verdict": "DENY"}}),
        "of another payment": Script(
            claims=_claims(payment_reference_hash=_OTHER_HASH, settled_payment_ref=_OTHER_HASH)
        ),
        "of another payment, without payment_reference_hash": Script(claims=_name_other_payment_once),
    }
    await _expect_report(case, "PAYER-RCPT-03", scripts, "of another request")
