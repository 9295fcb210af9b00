"""RAIL-PAY-17: a proof names its transaction and its network in one spelling (5.7 step 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.assertions.rail.refusals import judge_refusal
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.lanes.registry import LANES
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.purchase import Challenge, challenge, name_live_values, pay, present, redeem
from conformance.surfaces.rail.unpaid_answers import entries

ROW = "RAIL-PAY-17"
# A well-formed CAIP-2 name of a network that no lane serves.
_OTHER_NETWORK: Final = "voi:mainnet"


@check(
    ROW,
    surface="rail",
    lane="each",
    fix="Refuse a proof whose tx_id is not in the canonical form of its chain (P-NW-04), or whose network is not that "
    "of its token. Do not change the case of an id, and trim nothing.",
    quick=sample("operations"),
)
async def proofs_in_other_spellings(case: Case) -> None:
    """A proof with its transaction id in another spelling, or with another network, buys nothing and costs nothing.

    Pays each operation once. Presents the proof with its id in the other case, with white space around it, with a
    prefix, and in other texts that decode to the same bytes; and with the networks of the other lanes, networks that
    are not offered, and other spellings of its own. Expects that none is served. Then presents the honest proof with
    its own network named, and expects 200.
    """
    for operation in case.sample(case.session.catalog.operations):
        quote = await challenge(case, operation)
        proof = await pay(case, quote, case.lane)
        changes = {**_spell_id(case.lane, proof), **_name_networks(quote, case.lane)}
        answers = await run_concurrently(
            present(case, operation, {**proof, **change}, body=quote.body) for change in changes.values()
        )
        for what, answer in zip(changes, answers, strict=True):
            judge_refusal(case, ROW, quote, answer, what)
        named_proof = {**proof, "network": quote.entry(case.lane).get("network")}
        name_live_values(case, named_proof)
        answer = await redeem(case, operation, named_proof, body=quote.body)
        where = {"operation": operation.path, "payment": "the honest proof, with its network"}
        case.expect(ROW, answer.status == 200, "200", brief(answer), exchange=answer, where=where)


def _spell_id(lane: str, proof: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return changes of a proof's transaction id, by description; none for a proof that has no id."""
    tx_id, spell = proof.get("tx_id"), LANES[lane].spellings
    if not isinstance(tx_id, str) or spell is None:
        return {}
    texts = {
        "lower case": tx_id.lower(),
        "upper case": tx_id.upper(),
        "other case": tx_id.swapcase(),
        "a space in front": " " + tx_id,
        "a space at the end": tx_id + " ",
        "a line feed at the end": tx_id + "\n",
        "a prefix 0x": "0x" + tx_id,
        "padding at the end": tx_id + "====",
        "one character less": tx_id[:-1],
        "one character more": tx_id + tx_id[-1],
        **{f"the same bytes ({place})": text for place, text in enumerate(spell(tx_id))},
    }
    return {f"its id with {name}": {"tx_id": text} for name, text in texts.items() if text != tx_id}


def _name_networks(quote: Challenge, lane: str) -> dict[str, Mapping[str, Any]]:
    """Return changes of a proof's network, by description."""
    own = str(quote.entry(lane).get("network"))
    offered = [str(entry.get("network")) for entry in entries(quote.answer)]
    namespace, _, reference = own.partition(":")
    texts = {
        *offered,
        _OTHER_NETWORK,
        f"{namespace}:1",
        own.upper(),
        f" {own}",
        namespace,
        reference,
        f"{own}0",
        own[:-1],
    }
    return {f"the network {text!r}": {"network": text} for text in sorted(texts - {own})}
