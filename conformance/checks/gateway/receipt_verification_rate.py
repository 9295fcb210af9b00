"""GW-RCPT-31 and -32: the limit of 120 receipt verifications a minute."""

from __future__ import annotations

from conformance.assertions.gateway.limits import judge_throttled, require_quick_calls, select_throttled
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import RECEIPT_VERIFY, receipt_body
from conformance.surfaces.gateway.rate_limited_gateway import LimitedGateway, limited_gateway

_RATE = 120
# A bucket of depth 120 lets 120 calls pass at once and refills 120 within the minute. No reading of the rate lets more
# than 240 pass, so 35 calls beyond that must meet a 429.
_BEYOND, _AT_ONCE = 2 * _RATE + 35, 40
_BATCH, _APART = 25, 5.0
_SECONDS, _EACH_SECOND = 61, 2
MINUTE = 60.0
_OF_EVERY_429 = ("GW-RATE-03", "GW-RATE-04", "GW-HTTP-08")
_FIX = "Count a caller's receipt verifications separately. Accept at most 120 in any minute, and answer others 429."


async def _prepare_verification(case: Case, service: LimitedGateway) -> tuple[dict[str, str], dict[str, str]]:
    """Return body and header fields of a verification; the receipt is valid if one is available."""
    try:
        headers = service.tenant("first").headers
    except Inconclusive:
        headers = {}
    return await receipt_body(case, service.call, headers), headers


async def _verify(service: LimitedGateway, call: tuple[dict[str, str], dict[str, str]], count: int) -> list[Answer]:
    body, headers = call
    calls = (service.call("POST", RECEIPT_VERIFY, json_body=body, headers=headers) for _ in range(count))
    return await run_concurrently(calls, at_once=_AT_ONCE)


@check("GW-RCPT-31", *_OF_EVERY_429, surface="gateway", exclusive=Exclusive.LIMITS, fix=_FIX)
async def verification_is_throttled(case: Case) -> None:
    """More than 120 receipt verifications per minute are answered 429.

    Sends 275 verifications concurrently. After a rest, sends as many in batches of 25, five seconds apart. Expects at
    least one 429 each time, because no reading of the rate, bucket or window, lets that many pass. Expects from every
    429 Retry-After, the error envelope and a request id, as from those of a tenant's rate.
    """
    async with limited_gateway(case) as service:
        call = await _prepare_verification(case, service)
        try:
            await _judge_two_loads(case, service, call)
        except Inconclusive as reason:
            case.mark_inconclusive("GW-RCPT-31", str(reason))
        for row in (one for one in _OF_EVERY_429 if one not in case.judged_rows):
            # The checks of a tenant's rate decide what a 429 has to carry if no verification was answered 429.
            case.mark_not_applicable(row, "no verification was answered 429")


async def _judge_two_loads(case: Case, service: LimitedGateway, call: tuple[dict[str, str], dict[str, str]]) -> None:
    start_time = service.now
    answers = await _verify(service, call, _BEYOND)
    require_quick_calls(service, start_time, select_throttled(answers), f"{_BEYOND} calls")
    _judge(case, service, answers, "at once")
    # A minute of rest fills any bucket and empties any window, so the second load is judged alone.
    await service.advance(MINUTE + 1)
    # The time of the first answer, because a bucket refills from then on.
    start_time, answers = service.now, await _verify(service, call, _BATCH)
    answer_time = service.now
    for number in range(1, _BEYOND // _BATCH):
        await service.advance_to(answer_time + number * _APART)
        answers += await _verify(service, call, _BATCH)
    require_quick_calls(service, start_time, select_throttled(answers), f"{len(answers)} calls")
    _judge(case, service, answers, f"within {(_BEYOND // _BATCH - 1) * _APART:.0f} seconds")


def _judge(case: Case, service: LimitedGateway, answers: list[Answer], how: str) -> None:
    refusals = select_throttled(answers)
    for answer in refusals:
        judge_throttled(case, service, answer)
    finding = f"{len(refusals)} of {len(answers)} {how}"
    shown = refusals[0] if refusals else answers[-1]
    case.expect("GW-RCPT-31", bool(refusals), "429 for some", finding, exchange=shown, where={"calls": how})


@check("GW-RCPT-32", surface="gateway", exclusive=Exclusive.LIMITS, fix=_FIX)
async def spaced_verifications_pass(case: Case) -> None:
    """Up to 120 well-spaced receipt verifications per minute are not answered 429.

    After a rest sends two verifications a second for a minute. Expects no 429.
    """
    async with limited_gateway(case) as service:
        call = await _prepare_verification(case, service)
        refusals: list[Answer] = []
        answers: list[Answer] = []
        for second in range(_SECONDS - 1):
            if second:
                await service.advance(1)
            answers += await _verify(service, call, _EACH_SECOND)
        refusals = select_throttled(answers)
        finding = f"{len(refusals)} of {len(answers)}"
        case.expect("GW-RCPT-32", not refusals, "no 429", finding, exchange=(refusals or answers)[0])
