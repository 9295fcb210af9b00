"""GW-LINK-13, -19, -20: amounts are exact decimals, and an invalid amount is refused."""

from __future__ import annotations

import json
from decimal import ROUND_HALF_UP, Decimal

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer
from conformance.outcome import OpenPoint
from conformance.surfaces.gateway.calls import (
    LINKS,
    brief,
    create_link,
    envelope_fault,
    follows_records,
    is_created,
    is_refused,
    link_body,
    name_live_values,
    target_of,
)
from conformance.surfaces.gateway.refusal_hints import explain_open_value

# Decimals with at most six digits after the point. A binary float gets their product with a million wrong, in most
# cases by one. The third line has other spellings of such numbers.
EXACT = (
    *("8.41", "1.005", "0.1", "0.2", "0.3", "4.1", "8.2", "2.01", "2.03", "8.04", "8.29", "16.4", "33.3", "64.1"),
    *("1.001", "1.013", "128.2", "1.000001", "8.410001", "259.024438", "522.704629", "4103.599627", "4099.813281"),
    *("8.410", "8.4100000000", "841e-2", "0.841E1", "804e-2", "5", "5.0", "5e0"),
)
# The sum of 0.1 and 0.2 as a client computes it in floats, and other numbers between two micro-units. The interface
# names no rounding for them, so either neighbour passes, and so does a refusal.
BETWEEN = (
    *("0.30000000000000004", "1.0049999999999999", "8.4100000000000001"),
    # Exactly in the middle, above even and odd micro-units and above none.
    *("0.0000015", "0.0000025", "0.0000005", "1.0000005", "8.4100015", "8.4100025"),
)
# The smallest amounts, and large ones that a binary float still represents. A target may have narrower bounds and
# refuse them, so a refusal of these judges nothing.
FAR = ("0.000001", "0.000003", "999999.999999", "123456.789012")
NOT_NUMBERS = (
    *('"8.41"', '"much"', '""', "true", "false", "[]", "[8.41]", "{}", '{"value":8.41}', '"NaN"', '"1e2"'),
    *('"8,41"', '"$8.41"', '"8.41 USDC"', '"0x10"', '"1_000"', '"8.41;"'),
)
# Texts of digits. The interface does not say whether a server may read them as numbers, so accepting them only warns.
SPELLED_OUT = frozenset({'"8.41"', '"1e2"'})
# `1e999` is a valid JSON number and infinite as a float; `-0` equals zero and has a sign.
NOT_POSITIVE = ("0", "0.0", "0e9", "-1", "-0.01", "-8.41", "-0.000001", "-0", "1e999", "-1e999")
# Not JSON at all, but several parsers accept these words as numbers.
NOT_FINITE = ("NaN", "Infinity", "-Infinity")
_FIX = "Read the literal text of the JSON number as a decimal and multiply by 1,000,000; never go through a float."
# A placeholder that the JSON text of the body contains only once, so that the literal can replace it.
_MARK = 271828.125
_MICRO = 1_000_000
# With fewer links than this the row is inconclusive: a target that refuses nearly every amount has shown nothing.
_SHOWN_AT_LEAST = 10


async def post_literal(case: Case, tenant: Credentials, literal: str) -> Answer:
    """Create a link whose `amount` appears in the JSON body as exactly this text."""
    text = json.dumps(link_body(case, tenant, amount=_MARK)).replace(json.dumps(_MARK), literal)
    headers = {"content-type": "application/json", **tenant.headers}
    return name_live_values(case, await target_of(case)("POST", LINKS, body=text.encode(), headers=headers))


@check("GW-LINK-05", "GW-LINK-13", surface="gateway", fix=_FIX)
async def amounts_are_exact(case: Case) -> None:
    """`amount_microunits` equals amount times 1,000,000 exactly for USDC-priced links.

    Creates links whose amounts are decimals that binary floats get wrong (8.41, 1.005, and others in other spellings),
    and numbers between two micro-units, such as the sum of 0.1 and 0.2 in floats.

    Expects a JSON integer, however large. It is the exact product, or for a number between two micro-units one of the
    two neighbours. Such a number may also be refused. A target that claims the records of links rounds to the nearest,
    and ties away from zero (P-MN-02). Amounts that a target refuses by its own bounds judge nothing.
    """
    tenant = case.session.tenants.get()
    literals = (*EXACT, *BETWEEN, *FAR)
    answers = await run_concurrently(post_literal(case, tenant, literal) for literal in literals)
    plain_count = 0
    for literal, answer in zip(literals, answers, strict=True):
        if not is_created(case, answer):
            continue
        plain_count += literal in EXACT
        microunits = answer.read_object().get("amount_microunits")
        where = {"amount": literal}
        # In Python a bool is an int, so `true` in the answer would pass as the number 1 without the second test.
        whole, finding = (
            isinstance(microunits, int) and not isinstance(microunits, bool),
            f"{type(microunits).__name__} {microunits!r}",
        )
        case.expect("GW-LINK-05", whole, "amount_microunits as an integer", finding, exchange=answer, where=where)
        # Only specification 3.4 fixes the rounding. Another target may round in either direction.
        rounded_microunits = rounded_product(literal) if follows_records(case) else None
        requirement = _describe_product(literal) if rounded_microunits is None else f"{rounded_microunits}"
        holds = (
            whole and microunits == rounded_microunits
            if rounded_microunits is not None
            else is_product(literal, microunits)
        )
        case.expect("GW-LINK-13", holds, requirement, microunits, exchange=answer, where=where)
    if plain_count < _SHOWN_AT_LEAST:
        open_points = (explain_open_value(case.profile, LINKS, one) for one in answers if not is_created(case, one))
        why = next((one for one in open_points if one is not None), "bind [gateway] currency")
        case.mark_inconclusive("GW-LINK-13", f"only {plain_count} of {len(EXACT)} plain amounts made a link; {why}")


def _describe_product(literal: str) -> str:
    product = Decimal(literal) * _MICRO
    return f"{int(product)}" if product == int(product) else f"a neighbour of {product}"


def rounded_product(literal: str) -> int:
    """Return the amount in micro-units as the specification rounds it: "ties away from zero" (P-MN-02)."""
    return int((Decimal(literal) * _MICRO).to_integral_value(ROUND_HALF_UP))


def is_product(literal: str, microunits: object) -> bool:
    """Return whether `microunits` is the amount in micro-units, or one of the two neighbours if that is no integer."""
    if not isinstance(microunits, int) or isinstance(microunits, bool):
        return False
    return abs(Decimal(literal) * _MICRO - microunits) < 1


@check(
    "GW-LINK-19",
    surface="gateway",
    fix="Accept only a JSON number as an amount. A text, even of digits, is a validation error.",
)
async def an_amount_is_a_number(case: Case) -> None:
    """A non-numeric `amount` is rejected with a client error and the envelope.

    Sends texts, booleans, arrays and objects as the amount of a creation that is valid in all other members. Expects a
    client error in the envelope. Some of the texts are digits. A server that accepts those as numbers gets a warning.
    """
    await _judge_refusals(case, "GW-LINK-19", NOT_NUMBERS, envelope=True)


@check(
    "GW-LINK-20",
    surface="gateway",
    fix="Refuse an amount that is zero, negative or too large for a number before the link is stored.",
)
async def an_amount_is_positive(case: Case) -> None:
    """Zero, negative and non-finite amounts are rejected.

    Sends zero in several spellings, negative amounts, numbers larger than any float, and NaN and Infinity, which JSON
    does not have. Expects a client error.
    """
    await _judge_refusals(case, "GW-LINK-20", (*NOT_POSITIVE, *NOT_FINITE), envelope=False)


# Both checks of invalid amounts go through one function, so that they differ only in the literals and the envelope.
async def _judge_refusals(case: Case, row: str, literals: tuple[str, ...], *, envelope: bool) -> None:
    tenant = case.session.tenants.get()
    # A control: if a valid creation fails as well, this raises `Inconclusive`, and the refusals below prove nothing.
    await create_link(case, tenant)
    answers = await run_concurrently(post_literal(case, tenant, literal) for literal in literals)
    for literal, answer in zip(literals, answers, strict=True):
        where, finding = {"amount": literal}, brief(answer)
        is_text = literal in SPELLED_OUT
        beyond = OpenPoint("whether a text of digits is a number is open", "3.4") if is_text else None
        is_client_error = is_refused(answer)
        case.expect(row, is_client_error, "a client error", finding, exchange=answer, where=where, beyond=beyond)
        if is_client_error and envelope:
            fault = envelope_fault(answer)
            case.expect(row, fault is None, "the envelope", fault, exchange=answer, where=where)
