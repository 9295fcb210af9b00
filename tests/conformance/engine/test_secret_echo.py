"""Every exchange of a run is judged by X-ROB-02, whichever check made it, and whatever else it was for."""

from __future__ import annotations

from collections.abc import Sequence

from multidict import CIMultiDict, CIMultiDictProxy

from conformance.engine.secret_echo import ROW, make_echo_listener
from conformance.http.client import Client, Counter, Names
from conformance.log.events import EventLog
from conformance.surfaces.rail.purchase import header_value

VALUE = header_value({"tx_id": "A" * 52, "payment_reference": "1795240615:0000000000000001:" + "ab" * 32})


class Repeating:
    """Answers with its request's X-PAYMENT, or without."""

    def __init__(self, status: int, *, repeats: bool) -> None:
        self._status, self._repeats = status, repeats

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        del method, url, body
        echoed_text = dict(headers)["X-PAYMENT"] if self._repeats else "it"
        return (
            self._status,
            CIMultiDictProxy(CIMultiDict[str]()),
            f'{{"message":"already spent: {echoed_text}"}}'.encode(),
        )


async def judgements(transport: Repeating, *, over: bool = False) -> list[tuple[str, str, int]]:
    """Return check, verdict and exchange of what is judged of three calls."""
    log = EventLog()
    client = Client(transport, log, "late_replay_buys_nothing", Names(), Counter())
    client.echo_listener = make_echo_listener(log, "late_replay_buys_nothing")
    asking_client = client.with_transport(transport) if over else client
    for _ in range(3):
        await asking_client.call(
            "POST", "http://rail.test/pay", json_body={}, headers={"X-PAYMENT": VALUE}, patient=False
        )
    assert all(event["row"] == ROW for event in log.of("judgement"))
    return [(event["check"], event["verdict"], event["exchange"]) for event in log.of("judgement")]


async def test_an_answer_that_repeats_its_payment_fails_whatever_its_status() -> None:
    """Reported once, with the exchange that shows it, of the check that made it."""
    for status in (200, 402, 409, 429, 500):
        for over in (False, True):
            judgement_list = await judgements(Repeating(status, repeats=True), over=over)
            assert judgement_list == [("late_replay_buys_nothing", "fail", 1)]


async def test_a_request_that_is_no_text_is_sent_all_the_same() -> None:
    """Hostile requests have such paths and headers."""
    log = EventLog()
    client = Client(Repeating(400, repeats=False), log, "x", Names(), Counter())
    client.echo_listener = make_echo_listener(log, "x")
    odd = "\udc80\ud800"
    await client.call("POST", f"http://rail.test/{odd}", headers={"X-PAYMENT": VALUE, "X-Odd": odd}, body=b"\xff")
    assert not list(log.of("judgement"))


async def test_an_answer_that_repeats_nothing_is_not_judged() -> None:
    """What passes, the checks of the row say."""
    assert await judgements(Repeating(409, repeats=False)) == []
