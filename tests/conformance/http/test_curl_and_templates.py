"""What follows from a recorded request."""

from __future__ import annotations

from typing import Any

from conformance.http.curl_and_templates import count_templates, make_template, write_curl_line
from conformance.log.events import EventLog


def request(body: str | None, **members: Any) -> dict[str, Any]:
    """Return a recorded request."""
    return {"method": "POST", "url": "http://h/$TOKEN", "path": "/$TOKEN", "headers": [("B", "it's"), ("a", "$")]} | {
        "body": body,
        **members,
    }


def test_the_curl_line_leaves_names_to_the_shell() -> None:
    """A name that the suite put there stands in double quotes, all else in single ones."""
    names = {"url": [[9, 6]], "body": [[7, 6]]}
    assert write_curl_line(request('{"a":"`$TOKEN`"}', names=names)) == (
        "curl -sS -i -g --path-as-is -X POST --url 'http://h/'\"$TOKEN\" -H 'B: it'\"'\"'s' -H 'a: $' "
        '-H Content-Type: --data-raw \'{"a":"`\'"$TOKEN"\'`"}\''
    )


def test_a_body_is_called_what_the_request_called_it() -> None:
    """Curl would call a body a form by itself; a request that named no type names none again."""
    assert "-H Content-Type: --data-raw '{}'" in write_curl_line(request("{}"))
    plain_text = request("{}", headers=[("content-type", "text/plain")])
    assert "-H 'content-type: text/plain' --data-raw '{}'" in write_curl_line(plain_text)


def test_nobody_waits_for_the_body_of_an_answer_to_head() -> None:
    """With `-X HEAD` curl would wait for as many bytes as the answer's Content-Length says."""
    line = write_curl_line(request(None, method="HEAD"))
    assert " --head --url" in line
    assert "-X" not in line


def test_the_template_is_what_the_seed_decides() -> None:
    """Method, path, names of header fields and body; values of header fields are no part of it."""
    assert make_template(request(None)) == ["POST", "/$TOKEN", ["a", "b"], None]


def test_templates_are_counted_without_the_repeats_that_were_asked_for() -> None:
    """Each request of a run counts once, one that answers a 429 not at all; the target's deliveries do not count."""
    log = EventLog()
    for body, retry in (("x", False), ("x", False), ("x", True), (None, False)):
        log.add("exchange", request=request(body), retry=retry)
    log.add("arrival", request=request("y"))
    assert sorted(count_templates(log.events).items()) == [
        ('["POST","/$TOKEN",["a","b"],"x"]', 2),
        ('["POST","/$TOKEN",["a","b"],null]', 1),
    ]
