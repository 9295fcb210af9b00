"""No part of a secret stays in the log: in any form, at any place of a body, and where a text was cut."""

from __future__ import annotations

import asyncio
import base64
import gzip
import html
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import orjson
import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.http.client import Answer, Client, Counter, Names
from conformance.http.secret_leaks import comes_back
from conformance.log.events import Event, EventLog
from conformance.log.file import read_numbered_events
from conformance.outcome import Verdict
from conformance.report import formats
from conformance.report.har import archive
from conformance.text.secret_forms import forms_of
from tests.conformance.report.run_builder import RunBuilder

SECRET = "live_sk_\"Q7/zR+<k&9>v'W2=éx0Jm5"
SHOWN_BYTES = 65_536
# A part of this many letters would be a leak.
PART = 10


class Answering:
    """A transport that answers with one body and one header."""

    def __init__(self, body: bytes, headers: Sequence[tuple[str, str]] = ()) -> None:
        self._body, self._headers = body, headers

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        del method, url, headers, body
        return 200, CIMultiDictProxy(CIMultiDict(self._headers)), self._body


def record_exchange(body: bytes, *, sent_body: bytes | None = None, headers: Sequence[tuple[str, str]] = ()) -> Event:
    """Return what the log has of an exchange."""
    names, log = Names(), EventLog()
    names.secret(SECRET, "TENANT_FIRST_KEY")
    client = Client(Answering(body, headers), log, "a_check", names, Counter())
    asyncio.run(client.call("POST", "http://127.0.0.1:1/x", body=sent_body))
    return log.events[0]


def encodings() -> Iterator[tuple[str, str]]:
    """Yield the secret as other programs would write it, made without the code that is tested."""
    yield "as it is", SECRET
    quoted_secret = quote(SECRET, safe="")
    yield "percent-encoded", quoted_secret
    yield (
        "percent-encoded in lower case",
        "".join(f"%{part[:2].lower()}{part[2:]}" for part in quoted_secret.split("%"))[1:],
    )
    yield "of a form", quote(SECRET, safe="").replace("%20", "+")
    yield "JSON", json.dumps(SECRET)[1:-1]
    yield "JSON in UTF-8", json.dumps(SECRET, ensure_ascii=False)[1:-1]
    yield "HTML", html.escape(SECRET)
    yield "HTML without quotes", html.escape(SECRET, quote=False)
    yield "hex", SECRET.encode().hex()
    yield "hex in upper case", SECRET.encode().hex().upper()
    for offset in range(3):
        whole = b"u:p"[:offset] + SECRET.encode() + b":more"
        yield f"base64 at offset {offset}", base64.b64encode(whole).decode()
        yield f"base64url at offset {offset}", base64.urlsafe_b64encode(whole).decode().rstrip("=")


ENCODED_SECRETS = dict(encodings())


def core(name: str) -> str:
    """Return what of an encoded form is the secret's alone."""
    text = ENCODED_SECRETS[name]
    return text[4:-8] if "base64" in name else text


def list_leaks(name: str, report_text: str) -> list[str]:
    """Return the parts of a form that a text still holds."""
    text = core(name)
    return [text[at : at + PART] for at in range(len(text) - PART + 1) if text[at : at + PART] in report_text]


@pytest.mark.parametrize("name", ENCODED_SECRETS)
def test_a_form_of_a_secret_is_in_no_part_of_the_log(name: str) -> None:
    """In the body that was sent, in the answer, and in header fields, their names among them."""
    form = ENCODED_SECRETS[name]
    text = f"<p>{form}</p>".encode()
    event = record_exchange(text, sent_body=text, headers=[("x-a", form.encode("ascii", "replace").decode())])
    for side in ("request", "response"):
        assert list_leaks(name, event[side]["body"]) == []
        assert "$TENANT_FIRST_KEY" in event[side]["body"]
    if form.isascii():
        assert list_leaks(name, orjson.dumps(event["response"]["headers"]).decode()) == []


@pytest.mark.parametrize("name", ENCODED_SECRETS)
def test_no_part_of_a_secret_is_left_where_a_body_is_cut(name: str) -> None:
    """The secret at each place around the cut, and with what is behind it long, short, or nothing."""
    form = ENCODED_SECRETS[name]
    ends = [SHOWN_BYTES - len(form) - 1, SHOWN_BYTES - len(form), SHOWN_BYTES - 1, SHOWN_BYTES]
    for before in (*ends, *range(SHOWN_BYTES - len(form) + 1, SHOWN_BYTES, 9)):
        for after in (0, 1, 50_000) if before in ends else (40_000,):
            body = ("a" * before + form + "b" * after).encode()
            assert list_leaks(name, record_exchange(body)["response"]["body"]) == [], (before, after)


def test_many_secrets_do_not_bring_the_end_of_the_redacted_piece_into_view() -> None:
    """Names are shorter than secrets, so what is redacted shrinks; its end, where one may be in halves, stays away."""
    for shift in range(0, 40, 7):
        body = (" " * shift + f"{SECRET} " * 12_000).encode()
        assert list_leaks("as it is", record_exchange(body)["response"]["body"]) == []


def test_a_name_of_a_header_field_is_redacted() -> None:
    """A target may write a key there as well."""
    names, log = Names(), EventLog()
    names.secret("live-sk-0123456789", "TENANT_FIRST_KEY")
    client = Client(Answering(b"", [("x-live-sk-0123456789", "1")]), log, "a_check", names, Counter())
    asyncio.run(client.call("GET", "http://127.0.0.1:1/x"))
    assert log.events[0]["response"]["headers"] == [("x-$TENANT_FIRST_KEY", "1")]


@pytest.mark.parametrize("length", range(6, len(SECRET)))
@pytest.mark.parametrize("end", ["…", "… (12 more characters)", ""])
def test_the_beginning_of_a_secret_at_a_cut_is_redacted(length: int, end: str) -> None:
    """A check shows so many letters of an answer, and the judgement that quotes it may end in the midst of a key."""
    names = Names()
    names.secret(SECRET, "TENANT_FIRST_KEY")
    assert names.redact_cut(f"it answered {SECRET[:length]}{end}") == f"it answered $TENANT_FIRST_KEY{end}"


@pytest.mark.parametrize("length", [6, 7, 11, 12, 13, 18, 19, 40])
def test_each_beginning_of_a_secret_of_any_length_is_redacted(length: int) -> None:
    """Whether the secret is short or long, a text that ends in its beginning shows none of it; other ends stay."""
    secret = "0aZ1bY2cX3dW4eV5fU6gT7hS8iR9jQ0kPalObmNc"[:length]
    names = Names()
    names.secret(secret, "KEY")
    for shown in range(6, length + 1):
        for before in ("", "x", "it answered "):
            assert names.redact_cut(before + secret[:shown]) == f"{before}$KEY"
    for start in range(1, length - 5):
        assert names.redact_cut(f"it answered {secret[start:]}") == f"it answered {secret[start:]}"


def test_a_form_is_no_variable_of_a_curl_line() -> None:
    """A reader has the secret, not its encoded form, so the form has a name that no line fills in."""
    names = Names()
    names.secret(SECRET, "TENANT_FIRST_KEY")
    text, spans = names.redact_with_places(ENCODED_SECRETS["hex"])
    assert text == "$TENANT_FIRST_KEY_IN_HEX"
    assert spans == [(0, len(text))]


def test_an_address_stays_readable_in_tokens() -> None:
    """Addresses have names since they change; in the payload of a token they are left, or it could not be read."""
    names = Names()
    names.secret("127.0.0.1:40961", "HUB_ADDRESS")
    payload = base64.urlsafe_b64encode(b'{"iss":"http://127.0.0.1:40961"}').decode()
    assert names.redact(payload) == payload
    assert names.redact("http://127.0.0.1:40961/") == "http://$HUB_ADDRESS/"


def test_a_key_that_an_answer_hands_out_is_redacted_in_base64_and_hex() -> None:
    """A fresh API key is a secret from then on, also as a word of these alphabets."""
    key = "wp_live_Zm9vYmFyYmF6cXV4"
    encoded_key = base64.b64encode(key.encode()).decode()
    event = record_exchange(json.dumps({"api_key": key, "again": encoded_key, "hex": key.encode().hex()}).encode())
    assert key not in event["response"]["body"]
    assert encoded_key[:-4] not in event["response"]["body"]
    assert key.encode().hex() not in event["response"]["body"]


@pytest.mark.parametrize("name", ENCODED_SECRETS)
def test_every_form_is_recognised_in_an_answer(name: str) -> None:
    """What the log leaves out, the checks of leaks find."""
    answer = Answer(1, 200, CIMultiDictProxy(CIMultiDict[str]()), f"x{ENCODED_SECRETS[name]}y".encode())
    assert comes_back(answer, SECRET)


def test_no_format_brings_a_secret_back() -> None:
    """The log, each report and the archive of a run whose target repeats a key in all its forms."""
    run = RunBuilder(["RAIL-PAY-01"], log=(log := EventLog()))
    run.judge("RAIL-PAY-01", Verdict.FAIL, exchange=run.exchange("some_check"))
    events = run.finish({"RAIL-PAY-01": Verdict.FAIL})
    every = " ".join(ENCODED_SECRETS.values())
    exchange = record_exchange(every.encode(), sent_body=every.encode())
    exchange_members = {"request": exchange["request"], "response": exchange["response"]}
    shown_events = [{**one, **exchange_members} if "request" in one else one for one in events]
    report_texts = [formats.FORMATS[kind].render(shown_events).decode() for kind in formats.FORMATS]
    report_texts += [orjson.dumps(archive(shown_events)).decode(), *map(str, log.events)]
    for text in report_texts:
        for name in ENCODED_SECRETS:
            assert list_leaks(name, text) == [], name


def test_forms_are_long_enough_not_to_be_there_by_chance() -> None:
    """An encoded form of a few letters would take words out of every answer."""
    assert all(len(text) >= 8 for texts in forms_of("abcdef").values() for text in texts)
    assert "abcdef" not in {text for texts in forms_of("abcdef").values() for text in texts}


def test_the_file_has_no_part_of_a_secret(tmp_path: Path) -> None:
    """What is written to disk is what was redacted."""
    names = Names()
    names.secret(SECRET, "TENANT_FIRST_KEY")
    log = EventLog(tmp_path / "events.ndjson.gz")
    client = Client(Answering(("a" * (SHOWN_BYTES - 9) + SECRET).encode()), log, "a_check", names, Counter())
    asyncio.run(client.call("GET", "http://127.0.0.1:1/x"))
    log.close()
    assert list_leaks("JSON", gzip.decompress((tmp_path / "events.ndjson.gz").read_bytes()).decode()) == []
    assert len(list(read_numbered_events(tmp_path / "events.ndjson.gz"))) == 1
