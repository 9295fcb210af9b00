"""The recording client: everything is in the log, and no secret is."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.http.client import Answer, Client, Counter, JsonFault, Names, Throttled, Unreachable
from conformance.http.curl_and_templates import make_template, write_curl_line
from conformance.log.events import EventLog


class _Echo:
    """A transport that gives set answers, and remembers what was sent."""

    def __init__(self, *answers: tuple[int, dict[str, str], bytes]) -> None:
        self.answers = list(answers)
        self.sent: list[tuple[str, str, list[tuple[str, str]], bytes | None]] = []

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        self.sent.append((method, url, list(headers), body))
        if not self.answers:
            raise Unreachable("connection refused at s3cret-host")
        status, fields, content = self.answers.pop(0)
        return status, CIMultiDictProxy(CIMultiDict(fields)), content


def _client(transport: _Echo) -> tuple[Client, EventLog]:
    log = EventLog()
    return Client(transport, log, "a_check", Names(), Counter()), log


async def test_an_exchange_is_recorded_without_its_secrets() -> None:
    """X-PAYMENT, credentials and named values appear in no event, and the request still goes out whole."""
    transport = _Echo((200, {"X-Echo": "tok-123456"}, b'{"seen":"tok-123456"}'))
    client, log = _client(transport)
    client.names.name("tok-123456", "PAYMENT_REFERENCE")
    await client.call(
        "POST", "http://h/p?q=tok-123456", json_body={"a": "tok-123456"}, headers={"X-PAYMENT": "czNjcmV0", "k": "v"}
    )
    assert ("X-PAYMENT", "czNjcmV0") in transport.sent[0][2]
    text = json.dumps(log.events)
    assert "czNjcmV0" not in text
    assert "tok-123456" not in text
    event = log.events[0]
    assert make_template(event["request"]) == [
        "POST",
        "/p?q=$PAYMENT_REFERENCE",
        ["content-type", "k", "x-payment"],
        '{"a":"$PAYMENT_REFERENCE"}',
    ]
    assert write_curl_line(event["request"]) == (
        "curl -sS -i -g --path-as-is -X POST --url 'http://h/p?q='\"$PAYMENT_REFERENCE\" "
        "-H 'content-type: application/json' -H 'X-PAYMENT: '\"$X_PAYMENT\" -H 'k: v' "
        '--data-raw \'{"a":"\'"$PAYMENT_REFERENCE"\'"}\''
    )


def test_a_live_value_is_known_inside_a_path_and_a_memo() -> None:
    """A token is named as a segment and after a colon, and only where it is whole."""
    names = Names()
    names.name("AAECAwQFBgcI", "TOKEN")
    assert names.redact("/checkout/AAECAwQFBgcI/status") == "/checkout/$TOKEN/status"
    assert names.redact("weldproof:AAECAwQFBgcI") == "weldproof:$TOKEN"
    assert names.redact("/checkout/AAECAwQFBgcIx") == "/checkout/AAECAwQFBgcIx"


async def test_an_unreachable_target_is_recorded_too() -> None:
    """No answer is an event with an error and no response."""
    client, log = _client(_Echo())
    client.names.name("s3cret-host", "HOST")
    with pytest.raises(Unreachable):
        await client.call("GET", "http://h/")
    assert log.events[0]["response"] is None
    assert log.events[0]["error"] == "connection refused at $HOST"


async def test_a_throttled_call_waits_as_told_and_is_marked_as_a_repeat() -> None:
    """429 with Retry-After is honoured; the repeat keeps the ordinal and says that it is one."""
    client, log = _client(_Echo((429, {"Retry-After": "0"}, b""), (200, {}, b"{}")))
    answer = await client.call("GET", "http://h/")
    assert answer.status == 200
    assert [(event["ordinal"], event["retry"]) for event in log.events] == [(1, False), (1, True)]


async def test_a_429_is_never_an_answer() -> None:
    """However often it comes it is waited for; without a time to come back nothing is decided."""
    answer_429: tuple[int, dict[str, str], bytes] = (429, {"Retry-After": "0"}, b"")
    client, log = _client(_Echo(*[answer_429] * 5, (422, {}, b"{}")))
    assert (await client.call("POST", "http://h/")).status == 422
    assert len(log.events) == 6
    client, _ = _client(_Echo((429, {}, b"")))
    with pytest.raises(Throttled, match="POST"):
        await client.call("POST", "http://h/")


async def test_a_wait_beyond_all_patience_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that says 429 for minutes is asked no more."""
    client, log = _client(_Echo(*[(429, {"Retry-After": "100"}, b"")] * 5))
    clock = [0.0]

    async def slept(seconds: float) -> None:
        clock[0] += seconds

    monkeypatch.setattr("conformance.http.client.asyncio.sleep", slept)
    monkeypatch.setattr("conformance.http.client.time.monotonic", lambda: clock[0])
    with pytest.raises(Throttled):
        await client.call("GET", "http://h/")
    assert (clock[0], len(log.events)) == (100.0, 2)


@pytest.mark.parametrize("body", [b"{", b'{"a":1,"a":2}', b"[NaN]", b"\xff", b"[" * 100_000])
def test_a_body_that_is_not_json_is_told(body: bytes) -> None:
    """Duplicate members, NaN, bad UTF-8 and depth without end are not JSON."""
    answer = Answer(1, 200, CIMultiDictProxy(CIMultiDict[str]()), body)
    with pytest.raises(JsonFault):
        answer.parse_json()
    assert answer.read_object() == {}


async def test_credentials_are_shown_by_name_and_handed_out_secrets_too() -> None:
    """A known credential has its own name in the log, an unknown one none; a secret of an answer never shows."""
    secret = "s" * 43
    client, log = _client(_Echo((201, {}, json.dumps({"cancel_secret": secret}).encode()), (401, {}, b"{}")))
    client.names.secret("weld_0123456789", "TENANT_FIRST_KEY")
    for value in ("Bearer weld_0123456789", "Bearer another one"):
        await client.call("POST", "http://h/", headers={"Authorization": value})
    header_values = [event["request"]["headers"][0][1] for event in log.events]
    assert header_values == ["Bearer $TENANT_FIRST_KEY", "$AUTHORIZATION"]
    assert log.events[0]["response"]["body"] == '{"cancel_secret": "$CANCEL_SECRET"}'


async def test_a_check_of_limits_does_not_wait() -> None:
    """An impatient call takes a 429 for an answer."""
    client, log = _client(_Echo((429, {"Retry-After": "60"}, b"")))
    answer = await client.call("GET", "http://h/", patient=False)
    assert (answer.status, len(log.events)) == (429, 1)


async def test_a_check_counts_its_exchanges_over_every_transport() -> None:
    """Two transports of one check share its ordinals, so that a replay finds the exchange it is asked for."""
    first_client, log = _client(_Echo((200, {}, b""), (200, {}, b"")))
    second_client = first_client.with_transport(_Echo((200, {}, b"")))
    for sender in (first_client, second_client, first_client):
        await sender.call("GET", "http://target.test/")
    assert [event["ordinal"] for event in log.of("exchange")] == [1, 2, 3]


def test_a_private_key_that_was_given_is_named_inside_other_text_too() -> None:
    """The operator's own key is looked for anywhere; one of the many that we make only where it is a word."""
    names = Names()
    names.key("operator-key", "PAYER_KEY", is_given=True)
    names.key("made-up-key", "MADE_KEY", is_given=False)
    assert names.redact("xoperator-keyx made-up-key xmade-up-keyx") == "x$PAYER_KEYx $MADE_KEY xmade-up-keyx"


@pytest.mark.parametrize(("number_text", "value"), [("5", 5), ("5.0", 5), ("5e0", 5), ("-0.0", 0), ("5.5", 5.5)])
def test_a_whole_number_is_an_integer_however_it_is_written(number_text: str, value: float) -> None:
    """JSON has numbers by their value: 5.0 is the integer 5, and 5.5 none."""
    answer = Answer(1, 200, CIMultiDictProxy(CIMultiDict[str]()), f'{{"amount":{number_text}}}'.encode())
    assert answer.parse_json() == {"amount": value}
    assert type(answer.parse_json()["amount"]) is type(value)
