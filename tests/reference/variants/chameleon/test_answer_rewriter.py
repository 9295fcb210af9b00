"""The layer around a service: what it edits, and what it leaves alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

import pytest

from reference.variants.chameleon.answer_rewriter import (
    ABSENT,
    CURRENT_REQUEST,
    Answer,
    Message,
    Receive,
    ReceivedRequest,
    Scope,
    Send,
    Wire,
    encoder,
)
from reference.variants.chameleon.http_variants import head_edits, own_answer
from reference.variants.chameleon.variant_shape import Shape


class Service:
    """An app that answers with what it is given, and keeps what it was asked."""

    def __init__(self, *bodies: bytes, media: str = "application/json", status: int = 200) -> None:
        self.bodies, self.media, self.status = bodies, media, status
        self.path = ""
        self.heard = b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        self.path = scope["path"]
        await receive()
        self.heard = CURRENT_REQUEST.get().body
        headers = [(b"content-type", self.media.encode()), (b"x-request-id", b"req_" + b"0" * 32)]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        for number, body in enumerate(self.bodies):
            more = number + 1 < len(self.bodies)
            await send({"type": "http.response.body", "body": body, "more_body": more})


def call(
    wire: Wire, method: str = "GET", path: str = "/x", body: bytes = b""
) -> tuple[int, Mapping[str, str], list[bytes]]:
    """Send one request and return status, headers and body parts."""
    messages: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        messages.append(message)

    scope: Scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": []}
    asyncio.run(wire(scope, receive, send))
    headers = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
    return messages[0]["status"], headers, [one["body"] for one in messages[1:]]


def test_json_is_edited_and_written_anew() -> None:
    """An edit sees the parsed body; what is sent is written in the look's style, with its length."""

    def mark(answer: Answer) -> None:
        answer.document["marked"] = True

    status, headers, body = call(Wire(Service(b'{"a":', b"1}"), [mark], encoder("indented"), []))
    assert status == 200
    assert b"".join(body) == b'{\n  "a": 1,\n  "marked": true\n}\n'
    assert headers["content-length"] == str(len(b"".join(body)))


def test_what_is_no_json_goes_through_as_it_is() -> None:
    """A picture is not touched."""
    _, _, body = call(Wire(Service(b"\x89PNG", media="image/png"), [], encoder("reversed"), []))
    assert body == [b"\x89PNG"]


def test_a_stream_is_not_held_back() -> None:
    """The parts of an event stream are sent one by one, under an edited head."""
    service = Service(b"event: a\n\n", b"event: b\n\n", media="text/event-stream")
    edit = head_edits(Shape(header_case="upper"))
    _, headers, body = call(Wire(service, [], encoder("compact"), edit))
    assert body == [b"event: a\n\n", b"event: b\n\n"]
    assert "CONTENT-TYPE" in headers


def test_a_head_request_gets_no_body() -> None:
    """An answer to HEAD has the head alone."""
    _, headers, body = call(Wire(Service(b""), [], encoder("compact"), []), method="HEAD")
    assert body == [b""]
    assert "content-length" not in headers


def test_the_request_is_kept_for_those_who_hash_it() -> None:
    """The raw body as it was read is known while the call is served."""
    service = Service(b"{}")
    call(Wire(service, [], encoder("compact"), []), method="POST", body=b'{ "b":1 }')
    assert service.heard == b'{ "b":1 }'


def test_a_path_may_lead_elsewhere() -> None:
    """The service sees its own path of a moved one."""
    service = Service(b"{}")
    call(Wire(service, [], encoder("compact"), [], lambda path: "/own" if path == "/moved" else path), path="/moved")
    assert service.path == "/own"


@pytest.mark.parametrize("style", ["compact", "indented", "reversed", "escaped", "fractions"])
def test_every_style_says_the_same(style: str) -> None:
    """However it is written, the value is the same."""
    value = {"b": [1, {"z": "é/ü", "y": None}], "a": True}
    assert json.loads(encoder(style)(value)) == value


def test_whole_numbers_are_written_with_a_point() -> None:
    """Integers that binary64 holds get a fraction of zero; booleans and larger integers stay."""
    text = encoder("fractions")({"a": [5, -1, True, 0.5], "b": 2**60})
    assert text == b'{"a":[5.0,-1.0,true,0.5],"b":1152921504606846976}'


@pytest.mark.parametrize(
    ("shape", "name", "value"),
    [
        (Shape(request_id="uuid"), "x-request-id", "00000000-0000-0000-0000-000000000000"),
        (Shape(media_type="Application/JSON;charset=UTF-8"), "content-type", "Application/JSON;charset=UTF-8"),
        (Shape(further_headers={"Via": "1.1 edge"}), "via", "1.1 edge"),
    ],
)
def test_heads_differ_by_the_shape(shape: Shape, name: str, value: str) -> None:
    """Each member of the shape changes its header."""
    _, headers, _ = call(Wire(Service(b"{}"), [], encoder("compact"), head_edits(shape)))
    assert headers[name] == value


@pytest.mark.parametrize(("method", "shape"), [("OPTIONS", Shape(options="405")), ("HEAD", Shape(head="405"))])
def test_a_look_may_refuse_a_method_itself(method: str, shape: Shape) -> None:
    """The refusal is an error like others, with a request id."""
    answer = own_answer(ReceivedRequest(method, "/x", ""), shape)
    assert answer is not None
    assert answer.status == 405
    assert answer.header("x-request-id")
    assert answer.document is not ABSENT


def test_other_methods_are_the_services() -> None:
    """A look that refuses HEAD lets GET through."""
    assert own_answer(ReceivedRequest("GET", "/x", ""), Shape(head="405", options="405")) is None
