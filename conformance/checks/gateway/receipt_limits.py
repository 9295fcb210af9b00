"""GW-RCPT-31 and -32: 120 receipt verifications a minute."""

from __future__ import annotations

from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.http.client import Answer
from conformance.judging.gateway.limits import judge_throttled, quick_enough, throttled
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import RECEIPT_VERIFY, receipt_body
from conformance.surfaces.gateway.rate_limited_gateway import LimitedGateway, limited_gateway

_RATE = 120
# A bucket that is 120 deep lets as many again pass within its minute; no reading lets through more than that.
_BEYOND, _AT_ONCE = 2 * _RATE + 35, 40
_BATCH, _APART = 25, 5.0
_SECONDS, _EACH_SECOND = 61, 2
MINUTE = 60.0
_OF_EVERY_429 = ("GW-RATE-03", "GW-RATE-04", "GW-HTTP-08")
_FIX = "Count receipt verifications of a caller separately from all other calls: at most 120 in any minute, 429 beyond."


async def _prepared(case: Case, service: LimitedGateway) -> tuple[dict[str, str], dict[str, str]]:
    """Return body and header fields of a verification that has no fault of its own, where a receipt can be had."""
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

    Sends 275 verifications at once; then, after rest, as many in batches of 25, five seconds apart. Expects at least
    one 429 each time: no reading of the rate, bucket or window, lets that many through; and from every 429 Retry-After,
    the error envelope and a request id, as from those of a tenant's rate.
    """
    async with limited_gateway(case) as service:
        call = await _prepared(case, service)
        try:
            await _exhaust(case, service, call)
        except Inconclusive as reason:
            case.inconclusive("GW-RCPT-31", str(reason))
        for row in (one for one in _OF_EVERY_429 if one not in case.judged):
            # What every 429 carries is decided by those of a tenant's rate where no verification was answered one.
            case.not_applicable(row, "no verification was answered 429")


async def _exhaust(case: Case, service: LimitedGateway, call: tuple[dict[str, str], dict[str, str]]) -> None:
    started = service.now
    answers = await _verify(service, call, _BEYOND)
    quick_enough(service, started, throttled(answers), f"{_BEYOND} calls")
    _judge(case, service, answers, "at once")
    await service.advance(MINUTE + 1)
    started, answers = service.now, await _verify(service, call, _BATCH)
    answered = service.now
    for number in range(1, _BEYOND // _BATCH):
        await service.advance_to(answered + number * _APART)
        answers += await _verify(service, call, _BATCH)
    quick_enough(service, started, throttled(answers), f"{len(answers)} calls")
    _judge(case, service, answers, f"within {(_BEYOND // _BATCH - 1) * _APART:.0f} seconds")


def _judge(case: Case, service: LimitedGateway, answers: list[Answer], how: str) -> None:
    refused = throttled(answers)
    for answer in refused:
        judge_throttled(case, service, answer)
    found = f"{len(refused)} of {len(answers)} {how}"
    shown = refused[0] if refused else answers[-1]
    case.expect("GW-RCPT-31", bool(refused), "429 for some", found, exchange=shown, where={"calls": how})


@check("GW-RCPT-32", surface="gateway", exclusive=Exclusive.LIMITS, fix=_FIX)
async def spaced_verifications_pass(case: Case) -> None:
    """Up to 120 well-spaced receipt verifications per minute are not answered 429.

    After rest sends two verifications a second for a minute. Expects no 429.
    """
    async with limited_gateway(case) as service:
        call = await _prepared(case, service)
        refused: list[Answer] = []
        answers: list[Answer] = []
        for second in range(_SECONDS - 1):
            if second:
                await service.advance(1)
            answers += await _verify(service, call, _EACH_SECOND)
        refused = throttled(answers)
        found = f"{len(refused)} of {len(answers)}"
        case.expect("GW-RCPT-32", not refused, "no 429", found, exchange=(refused or answers)[0])
