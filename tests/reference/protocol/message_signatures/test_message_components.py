"""What each covered component adds to the signature base (P-AG-01, P-AG-02)."""

from __future__ import annotations

from typing import Any

import pytest

from reference.protocol.message_signatures import MessageRequest, explain

MESSAGE: dict[str, Any] = {"method": "GET", "authority": "example.com", "path": "/a", "headers": {}}


def line_of(identifier: str, **members: Any) -> str:
    """Return the value that covering `identifier` adds to the base."""
    headers = {"Signature-Input": f"sig=({identifier})", "Signature": "sig=:AA==:", **members.pop("headers", {})}
    result = explain(MessageRequest.model_validate(MESSAGE | members | {"headers": headers}), now=1000)
    assert result["error_codes"] == []
    line = result["signature_base"].split("\n")[0]
    assert line.startswith(f"{identifier}: ")
    return str(line.removeprefix(f"{identifier}: "))


@pytest.mark.parametrize(
    ("expected", "identifier", "members"),
    [
        ("gEt", '"@method"', {"method": "gEt"}),
        ("example.com", '"@authority"', {"authority": "Example.COM:443"}),
        ("example.com:80", '"@authority"', {"authority": "example.com:80"}),
        ("example.com", '"@authority"', {"authority": "example.com:80", "scheme": "HTTP"}),
        ("example.com:8443", '"@authority"', {"authority": "example.com:8443"}),
        ("example.com", '"@authority"', {"authority": "example.com:"}),
        ("[::1]", '"@authority"', {"authority": "[::1]:"}),
        ("[::1]", '"@authority"', {"authority": "[::1]:443"}),
        ("http", '"@scheme"', {"scheme": "HTTP"}),
        ("/a/%7Eb//c", '"@path"', {"path": "/a/%7Eb//c?d=/e?f"}),
        ("/", '"@path"', {"path": ""}),
        ("/", '"@path"', {"path": "?a"}),
        ("?", '"@query"', {}),
        ("?", '"@query"', {"path": "/a?"}),
        ("?b=c?d", '"@query"', {"path": "/a?b=c?d", "query": "other"}),
        ("?b=c", '"@query"', {"query": "b=c"}),
        ("/a", '"@request-target"', {}),
        ("/a?", '"@request-target"', {"path": "/a?"}),
        ("/a?b=c", '"@request-target"', {"query": "b=c"}),
        ("*", '"@request-target"', {"method": "OPTIONS", "path": "*"}),
        ("https://example.com/a?b=c", '"@target-uri"', {"path": "/a?b=c", "authority": "EXAMPLE.com:443"}),
        ("503", '"@status"', {"status": 503}),
    ],
)
def test_derived_components(expected: str, identifier: str, members: dict[str, Any]) -> None:
    """Derived components follow the rules of RFC 9421 section 2.2."""
    assert expected == line_of(identifier, **members)


@pytest.mark.parametrize(
    ("expected", "name"),
    [
        ("this%20is%20a%20big%0Amultiline%20value", "var"),
        ("with%20plus%20whitespace", "bar"),
        ("something", "fa%C3%A7ade%22%3A%20"),
        ("", "empty"),
        ("", "bare"),
        ("%7E%21%27%28%29*-._", "marks"),
    ],
)
def test_query_parameters(expected: str, name: str) -> None:
    """Query parameters are read and written as forms do, spaces as %20: the examples of RFC 9421 section 2.2.8."""
    query = (
        "var=this%20is%20a%20big%0Amultiline%20value&bar=with+plus+whitespace&fa%C3%A7ade%22%3A%20=something"
        "&empty=&bare&marks=~!'()*-._"
    )
    assert expected == line_of(f'"@query-param";name="{name}"', query=query)


@pytest.mark.parametrize(
    ("expected", "identifier", "value"),
    [
        ("a b", '"x-a"', "  a b\t"),
        ("a b", '"x-a"', "a \r\n\t b"),
        ("a, b, , c", '"x-a"', ["a", " b ", "", "c"]),
        ("", '"x-a"', ""),
        ("a\tb", '"x-a"', "a\tb"),
        (":YQ==:, :YiwgYw==:", '"x-a";bs', ["a", " b, c "]),
        (":6Q==:", '"x-a";bs', "é"),
        (":oA==:", '"x-a";bs', "\xa0"),
        ("?1", '"x-a";key="d"', "a=1, d"),
        ("(1 2);p", '"x-a";key="b"', ["a=1", "b=( 1  2 );p"]),
        ("1;x=2", '"x-a";key="a"', "a=1; x=2"),
        ("1;x=2", '"x-a";key="a";sf', "a=1; x=2"),
        ('a, "b";q=1', '"accept";sf', 'a ,  "b"; q=1'),
        ("sha-256=:YQ==:;p", '"repr-digest";sf', "sha-256=:YQ==:;  p"),
        ("5", '"created"', "5"),
    ],
)
def test_fields(expected: str, identifier: str, value: str | list[str]) -> None:
    """Field values are trimmed, unfolded and joined; sf, key and bs give their own form of them."""
    name = identifier.split('"')[1]
    assert expected == line_of(identifier, headers={name.title(): value})


def test_a_field_under_two_spellings_is_one_field() -> None:
    """Names that differ in case only are one field, in the order given."""
    assert line_of('"x-a"', headers={"X-A": "1", "x-a": ["2", "3"]}) == "1, 2, 3"


def test_parameters_are_covered_in_the_order_received() -> None:
    """The last line repeats names, types and order of the parameters (P-AG-03)."""
    input_text = '("@method" "x-a";key="b";sf);keyid="k\\"\\\\";x=:YQ==:;created=1000;y=1.5;z;w=tok*en;alg="ed25519"'
    headers = {"Signature-Input": f"sig={input_text}", "Signature": "sig=:AA==:", "X-A": "b=1"}

    result = explain(MessageRequest.model_validate(MESSAGE | {"headers": headers}), now=1000)

    assert result["signature_base"].endswith(f'\n"@signature-params": {input_text}')
    assert result["parameters"] == {
        "keyid": 'k"\\',
        "x": ":YQ==:",
        "created": 1000,
        "y": "1.5",
        "z": True,
        "w": "tok*en",
        "alg": "ed25519",
    }
    assert result["covered_components"] == ["@method", 'x-a;key="b";sf']
