"""Properties of the whole: what is signed verifies, a changed byte does not, and no input ends in an exception."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import http_sf
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reference.protocol.canonical_json import canonicalise
from reference.protocol.message_signatures import (
    ClosedMessageVerifyRequest,
    Fields,
    MessageRequest,
    MessageVerifyRequest,
    SignRequest,
    explain,
    faults,
    sign,
    signature_input,
    structured,
    verify,
)

ASCII = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20)
FIELD_NAMES = st.from_regex(r"x-[a-z0-9]{1,8}", fullmatch=True)
SIGNABLE = st.fixed_dictionaries(
    {
        "method": ASCII,
        "authority": ASCII,
        "path": ASCII.map(lambda text: "/" + text),
        "headers": st.dictionaries(FIELD_NAMES, ASCII | st.lists(ASCII, min_size=1, max_size=3), max_size=3),
    },
    optional={
        "query": ASCII,
        "body_b64": st.binary(max_size=60).map(lambda data: base64.b64encode(data).decode()),
        "scheme": st.sampled_from(["http", "https"]),
        "nonce": ASCII,
        "tag": ASCII,
        "created": st.integers(0, 2**40),
    },
)
HEADER_TEXT = st.text(st.sampled_from(list('sig=()"@methodpathx-a;key,:AAbs \t\n01?%é\\.*')), max_size=40) | st.text(
    max_size=20
)
ANY_MESSAGE = st.fixed_dictionaries(
    {
        "method": st.text(max_size=8),
        "authority": st.text(max_size=8),
        "path": st.text(max_size=12),
        "headers": st.dictionaries(
            st.sampled_from(["Signature-Input", "Signature", "content-digest", "x-a", "accept"]) | st.text(max_size=5),
            HEADER_TEXT | st.lists(HEADER_TEXT, max_size=3),
            max_size=5,
        ),
    },
    optional={
        "query": st.text(max_size=12),
        "body_b64": st.sampled_from(["", "eA=="]),
        "label": st.text(max_size=3),
        "required_components": st.lists(HEADER_TEXT, max_size=2),
        "expected_tag": st.text(max_size=3),
        "public_key_hex": st.binary(min_size=32, max_size=32).map(bytes.hex),
    },
)
KNOWN_COMPONENTS = ['"@method"', '"@query-param";name="a"', '"x-a";key="a"', '"x-a";bs', '"accept";sf', '"created"']


def signed_with_every_field(members: dict[str, Any]) -> dict[str, Any]:
    components = ["@method", "@authority", "@path", "@query", "@scheme", *members["headers"]]
    request = SignRequest.model_validate(members | {"covered_components": components})
    return sign(request, seed=bytes(range(32)), now=1000)


@settings(max_examples=80)
@given(SIGNABLE)
def test_what_is_signed_verifies(members: dict[str, Any]) -> None:
    """Every request that can be signed verifies as the answer stands, and by the answer's base."""
    answer = signed_with_every_field(members)

    result = verify(MessageVerifyRequest.model_validate(answer), now=answer["created"])

    assert result["error_codes"] == []
    assert result["valid"] is True
    assert result["signature_base"] == answer["signature_base"]


@settings(max_examples=150)
@given(SIGNABLE, st.data())
def test_one_changed_byte_is_found(members: dict[str, Any], data: st.DataObject) -> None:
    """One other byte in anything that is covered, in the signature, the key or the body makes the message invalid."""
    answer = signed_with_every_field(members)
    place = data.draw(
        st.sampled_from(["method", "path", "body_b64", "Signature", "public_key_hex", "created", "field"])
    )
    changed_message = changed_at(answer, place, data)

    result = verify(MessageVerifyRequest.model_validate(changed_message | {"did_key": None}), now=answer["created"])

    assert result["valid"] is (changed_message == answer)


def changed_at(answer: dict[str, Any], place: str, data: st.DataObject) -> dict[str, Any]:
    headers = answer["headers"]
    if place == "body_b64":
        return answer | {place: base64.b64encode(other_byte(base64.b64decode(answer[place]), data)).decode()}
    if place == "public_key_hex":
        return answer | {place: other_byte(bytes.fromhex(answer[place]), data).hex()}
    if place == "Signature":
        value = other_byte(base64.b64decode(headers[place][5:-1]), data)
        return answer | {"headers": headers | {place: f"sig=:{base64.b64encode(value).decode()}:"}}
    if place == "created":
        text = headers["Signature-Input"].replace(f"created={answer['created']}", f"created={answer['created'] + 1}")
        return answer | {"headers": headers | {"Signature-Input": text}}
    if place == "field":
        names = [name for name in headers if name.startswith("x-")]
        return answer | {"headers": headers | dict.fromkeys(names[:1], "another value")}
    text = answer[place]
    position = data.draw(st.integers(1 if place == "path" else 0, len(text) - 1))
    letter = "a" if text[position] != "a" else "b"
    return answer | {place: text[:position] + letter + text[position + 1 :]}


def other_byte(given_bytes: bytes, data: st.DataObject) -> bytes:
    if not given_bytes:
        return given_bytes
    position = data.draw(st.integers(0, len(given_bytes) - 1))
    flipped_byte = given_bytes[position] ^ data.draw(st.integers(1, 255))
    return given_bytes[:position] + bytes([flipped_byte]) + given_bytes[position + 1 :]


@settings(max_examples=300)
@given(ANY_MESSAGE, st.lists(st.sampled_from(KNOWN_COMPONENTS) | HEADER_TEXT, max_size=4), st.booleans())
@example(message={"method": "", "authority": "", "path": "", "headers": {"x-a": []}}, components=[""], plausible=True)
def test_no_message_ends_in_an_exception(message: dict[str, Any], components: list[str], plausible: bool) -> None:
    """Whatever stands in the message: a result in JSON, with known codes, none when and only when it is not refused."""
    if plausible:
        headers = {"Signature-Input": f"a=({' '.join(components)});created=1", "Signature": "a=:AA==:"}
        message = message | {"headers": message["headers"] | headers, "label": None}

    result = explain(MessageRequest.model_validate(message), now=1000)

    assert set(result["error_codes"]) <= set(faults.ALL_CODES)
    assert result["valid"] in ({None} if "public_key_hex" not in message else {False})
    assert canonicalise(result)
    assert result["fix_notes"]


@given(st.text(st.sampled_from(list('sig=("@method" "x");created=10keyid"a,:AA==/+\\.')), max_size=60))
@example('sig=("@method" "@path");created=1000;keyid="a,b;c=:d";alg="ed25519"')
@example('sig=("a");a="1";a="2"')
@example('sig=("a");a=010')
@example("sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:")
@example('sig=("a");a=')
@example('sig=("a"')
@example('sig=("a");created="1";alg=1')
@example('sig=("a");created=1;created=1')
@example('sig=("a");createdat=1;alg="created=1"')
@example("sig=:")
@example("sig=::")
@example("sig=:AA==:;a")
@example("sig=:AA=:")
@example("sig=:AB==:")
def test_everyday_forms_are_read_as_the_library_reads_them(text: str) -> None:
    """The quick reader gives what the library gives, or nothing."""
    quick = structured.read_everyday(text)

    assert quick is None or quick == http_sf.parse(text.encode(), tltype="dictionary")


@pytest.mark.parametrize(
    "text",
    [
        'sig=("@method" "@path");created=1000;keyid="a,b;c=:d";alg="ed25519"',
        "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:",
    ],
)
def test_everyday_forms_are_everyday(text: str) -> None:
    """The forms that nearly every message has are read quickly."""
    assert structured.read_everyday(text) == http_sf.parse(text.encode(), tltype="dictionary")


@pytest.mark.parametrize("parameter", ["alg=1", "keyid=1", "nonce=1", "tag=1", 'created="1"', 'expires="1"'])
def test_everyday_parameters_are_of_their_kinds(parameter: str) -> None:
    """A parameter of another kind than its own is left to the rule about kinds."""
    fields = Fields({"Signature-Input": f'sig=("a");{parameter}', "Signature": "sig=:AA==:"})

    assert structured.read_parameters(f";{parameter}") is None
    with pytest.raises(faults.Fault) as error_info:
        signature_input.select_signature(fields, None)

    assert error_info.value.code == "malformed_signature_input"


@pytest.mark.parametrize(
    ("components", "members"),
    [
        (" ".join(f'"x-a";key="k{n}"' for n in range(9000)), {"headers": {"x-a": ", ".join(["a"] * 40000)}}),
        (" ".join(f'"x-a";key="k{n}"' for n in range(9000)), {"headers": {"x-a": "(" * 100000}}),
        (" ".join(f'"@query-param";name="n{n}"' for n in range(5000)), {"query": "&".join(["a=b"] * 20000)}),
        (" ".join(f'"x{n}"' for n in range(20000)), {"required_components": [f"y{n}" for n in range(8000)]}),
        ('"x-a"', {"headers": {"x-a": " " * 100000 + "\n" + " " * 100000 + "x"}}),
        ('"x-a";bs', {"headers": {"x-a": ["x"] * 50000}}),
    ],
)
def test_a_large_message_costs_no_more_than_its_length(components: str, members: dict[str, Any]) -> None:
    """A quarter of a megabyte, arranged to be read again and again, is judged within seconds of CPU, not minutes."""
    headers = {"Signature-Input": f"sig=({components})", "Signature": "sig=:AA==:", **members.pop("headers", {})}
    message = {"method": "GET", "authority": "a", "path": "/", "headers": headers, **members}
    start_time = time.process_time()

    explain(MessageRequest.model_validate(message), now=1000)

    assert time.process_time() - start_time < 20


def test_open_and_closed_requests_are_judged_alike() -> None:
    """The agent and the paid rail give the same result for the same message and key (P-AG-08)."""
    answer = sign(
        SignRequest.model_validate({"method": "GET", "authority": "a", "path": "/"}), seed=bytes(32), now=1000
    )
    message = {name: answer[name] for name in ("method", "authority", "path", "headers", "did_key")}

    of_the_agent = verify(MessageVerifyRequest.model_validate(json.loads(json.dumps(message))), now=1000)
    of_the_rail = verify(ClosedMessageVerifyRequest.model_validate(message), now=1000)

    assert of_the_agent == of_the_rail
    assert of_the_rail["valid"] is True
