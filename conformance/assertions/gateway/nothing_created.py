"""Whether a refused call created nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.surfaces.gateway.calls import (
    LINKS,
    RESOURCES,
    Caller,
    Creation,
    brief,
    is_created,
    name_live_values,
    payable,
    post,
    resource_body,
    target_of,
    token_of,
)
from conformance.surfaces.gateway.refusal_hints import explain_open_value

# Amounts of a valid and of a refused creation, which differ: the amount of a link shows which call created it.
HONEST_AMOUNT, REFUSED_AMOUNT = 2.5, 1.25


async def judge_nothing_created(
    case: Case, row: str, refused_creation: Creation, where: Mapping[str, str], call: Caller | None = None
) -> None:
    """Judge that a refused creation left nothing: its key is free, and so is the name of its resource.

    Raises:
        Inconclusive: The target answered neither way.
    """
    send = call or target_of(case)
    # Another amount than the refused call's. If the key was stored, the server returns the old link or a conflict.
    body = {
        **refused_creation.body,
        **({"amount": payable(case.profile.gateway_bindings, HONEST_AMOUNT)} if refused_creation.path == LINKS else {}),
    }
    if refused_creation.path == RESOURCES:
        # The same body without a key: if the refused call had created the resource, its name would be taken.
        name_live_values(case, name_answer := await post(send, Creation(RESOURCES, body, refused_creation.tenant)))
        finding = brief(name_answer)
        case.expect(
            row, is_created(case, name_answer), "the name still free", finding, exchange=name_answer, where=where
        )
        body = {**body, **resource_body(case)}
    answer = await post(send, Creation(refused_creation.path, body, refused_creation.tenant, refused_creation.key))
    name_live_values(case, answer)
    # If the profile lacks a value that the target requires, the refusal is not about the key.
    open_point = None if is_created(case, answer) else explain_open_value(case.profile, refused_creation.path, answer)
    if open_point is not None:
        case.mark_inconclusive(row, open_point, exchange=answer)
        return
    is_new = is_created(case, answer) and _is_of(answer, body)
    finding = brief(answer)
    requirement = "the Idempotency-Key of the refused call still free"
    case.expect(row, is_new, requirement, finding, exchange=answer, where=where)


def _is_of(answer: Answer, body: Mapping[str, Any]) -> bool:
    """Return whether a creation's answer is about this body, by its amount if it has one."""
    shown_amount = answer.read_object().get("amount_microunits")
    if "amount" not in body or not isinstance(shown_amount, int):
        return True
    refused_amount = body["amount"] - (HONEST_AMOUNT - REFUSED_AMOUNT)
    return shown_amount != round(refused_amount * 1_000_000) and token_of(answer) is not None
