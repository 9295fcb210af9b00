"""PAYER-RCPT: a payer keeps its receipt, and reports one that does not fit."""

from __future__ import annotations

from typing import Any

from conformance.engine.check import Case, check
from conformance.oracles.hash_recipes import sha256_hex
from conformance.oracles.jose import tokens_in
from conformance.surfaces.payer.played_rail import Script, read_json, serve, stay_silent
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


def _without_receipt(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "payable_receipt"}


async def _expect_report(case: Case, row: str, scripts: dict[str, Script]) -> None:
    """Play scenes whose answer is 200 with a receipt that does not fit, and judge that the payer reports it."""
    await require_honest_call(case)
    scenes = {name: Scene(script=script) for name, script in scripts.items()}
    for name, outcome in (await perform_each(case, scenes)).items():
        case.expect(
            row,
            outcome.is_refused and outcome.has_paid_at_most_once,
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

    Signs the receipt with a key that is not published, leaves it out, and publishes no key set or an empty one. Expects
    an exit code other than 0.
    """
    scripts = {
        "a receipt of another key": Script(signer=new_signer()),
        "no receipt": Script(paid=_without_receipt),
        "no key documents": Script(documents=lambda _: {}),
        "an empty key set": Script(documents=lambda documents: {**documents, JWKS: {"keys": []}, DID: {}}),
    }
    await _expect_report(case, "PAYER-RCPT-02", scripts)


@check(
    "PAYER-RCPT-03",
    surface="payer",
    lane="each",
    fix="Compare the receipt's hashes with the request, the answer and the payment that you made.",
    needs_more=NEEDS_MORE,
)
async def reports_a_receipt_of_another_call(case: Case) -> None:
    """A receipt that binds another request, answer or payment makes the payer report a failure.

    Signs receipts with one other hash each, and serves another answer than the receipt and the answer's own hash bind.
    Expects an exit code other than 0.
    """
    scripts = {
        "of another request": Script(claims=_claims(request_hash=_OTHER_HASH)),
        "of another answer": Script(claims=_claims(response_hash=_OTHER_HASH)),
        "with another answer": Script(paid=lambda answer: {**answer, "result": {"verdict": "DENY"}}),
        "of another payment": Script(
            claims=_claims(payment_reference_hash=_OTHER_HASH, settled_payment_ref=_OTHER_HASH)
        ),
    }
    await _expect_report(case, "PAYER-RCPT-03", scripts)
