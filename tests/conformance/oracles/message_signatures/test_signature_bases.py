"""The signature base: each component as RFC 9421 section 2 shows it, byte for byte."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.oracles.message_signatures import http_message_text
from conformance.oracles.message_signatures.base import Base, Coverage, signature_base
from conformance.oracles.message_signatures.components import Component, read_component, value_of
from conformance.oracles.message_signatures.faults import Code, Refusal
from conformance.oracles.message_signatures.message import Message

REQUEST = Message(method="POST", authority="www.example.com", target="/path?param=value&foo=bar&baz=bat%2Dman")
FIELDS = Message(
    method="GET",
    authority="www.example.com",
    headers=(
        ("Host", "www.example.com"),
        ("Date", "Tue, 20 Apr 2021 02:07:56 GMT"),
        ("X-OWS-Header", "   Leading and trailing whitespace.   "),
        ("X-Obs-Fold-Header", "Obsolete\r\n    line folding."),
        ("Cache-Control", "max-age=60"),
        ("Cache-Control", "   must-revalidate"),
        ("Example-Dict", " a=1,    b=2;x=1;y=2,   c=(a   b   c), d"),
        ("X-Empty-Header", ""),
        ("Example-Header", "value, with, lots"),
        ("Example-Header", "of, commas"),
    ),
)
RESPONSE = Message(status=503, headers=(("Content-Type", "text/plain"),), request=REQUEST, trailers=())


def value(identifier: str, message: Message) -> str:
    return value_of(read_component(identifier), message)


def refusal(identifier: str, message: Message) -> Code:
    with pytest.raises(Refusal) as error:
        value(identifier, message)
    assert error.value.fault.component == identifier
    return error.value.fault.code


@pytest.mark.parametrize(
    ("name", "expected_value"),
    [
        ("@method", "POST"),
        ("@target-uri", "https://www.example.com/path?param=value&foo=bar&baz=bat%2Dman"),
        ("@authority", "www.example.com"),
        ("@scheme", "https"),
        ("@request-target", "/path?param=value&foo=bar&baz=bat%2Dman"),
        ("@path", "/path"),
        ("@query", "?param=value&foo=bar&baz=bat%2Dman"),
        ('"@query-param";name="baz"', "bat-man"),
    ],
)
def test_derived_components_of_the_rfc(name: str, expected_value: str) -> None:
    """RFC 9421 2.2.1 to 2.2.8."""
    assert expected_value == value(name, REQUEST)


@pytest.mark.parametrize(
    ("identifier", "expected_value"),
    [
        ("host", "www.example.com"),
        ("x-ows-header", "Leading and trailing whitespace."),
        ("x-obs-fold-header", "Obsolete line folding."),
        ("cache-control", "max-age=60, must-revalidate"),
        ("example-dict", "a=1,    b=2;x=1;y=2,   c=(a   b   c), d"),
        ("x-empty-header", ""),
        ('"example-dict";key="a"', "1"),
        ('"example-dict";key="b"', "2;x=1;y=2"),
        ('"example-dict";key="c"', "(a b c)"),
        ('"example-dict";key="d"', "?1"),
        ('"example-header";bs', ":dmFsdWUsIHdpdGgsIGxvdHM=:, :b2YsIGNvbW1hcw==:"),
    ],
)
def test_field_components_of_the_rfc(identifier: str, expected_value: str) -> None:
    """RFC 9421 2.1 to 2.1.3."""
    assert expected_value == value(identifier, FIELDS)


@pytest.mark.parametrize(
    ("target", "name", "expected_value"),
    [
        ("/parameters?var=this%20is%20a%20big%0Amultiline%20value", "var", "this%20is%20a%20big%0Amultiline%20value"),
        ("/parameters?bar=with+plus+whitespace", "bar", "with%20plus%20whitespace"),
        ("/parameters?fa%C3%A7ade%22%3A%20=something", "fa%C3%A7ade%22%3A%20", "something"),
        ("/path?qux=", "qux", ""),
        ("/path?qux", "qux", ""),
        ("/path?a=~%7e*-._", "a", "%7E%7E*-._"),
        ("/path?a=b=c&d", "a", "b%3Dc"),
        ("/path?a=%FF", "a", "%EF%BF%BD"),
        ("/path?;a=1;b", "%3Ba", "1%3Bb"),
    ],
)
def test_query_parameters_are_decoded_and_encoded_again(target: str, name: str, expected_value: str) -> None:
    """RFC 9421 2.2.8: the form's percent-encode set, a space as %20."""
    assert expected_value == value(f'"@query-param";name="{name}"', replace(REQUEST, target=target))


@pytest.mark.parametrize(
    ("authority", "scheme", "expected_authority"),
    [
        ("EXAMPLE.com:443", "https", "example.com"),
        ("example.com:443", "http", "example.com:443"),
        ("example.com:80", "HTTP", "example.com"),
        ("example.com:8443", "https", "example.com:8443"),
        ("example.com:", "https", "example.com"),
        ("[2001:DB8::1]", "https", "[2001:db8::1]"),
        ("[2001:DB8::1]:443", "https", "[2001:db8::1]"),
    ],
)
def test_authorities_are_normalised(authority: str, scheme: str, expected_authority: str) -> None:
    """RFC 9110 4.2.3: lower case, no default port."""
    assert expected_authority == value("@authority", replace(REQUEST, authority=authority, scheme=scheme))


@pytest.mark.parametrize(
    ("line", "expected_parts"),
    [
        (
            "GET https://www.example.com/p?a=b",
            ("https://www.example.com/p?a=b", "/p", "?a=b", "https://www.example.com/p?a=b"),
        ),
        ("GET http://www.example.com", ("http://www.example.com", "/", "?", "http://www.example.com/")),
        ("OPTIONS *", ("*", "/", "?", "https://www.example.com")),
        ("CONNECT www.example.com:80", ("www.example.com:80", "/", "?", "https://www.example.com:80")),
        ("GET /?", ("/?", "/", "?", "https://www.example.com/?")),
        ("GET ?a", ("/?a", "/", "?a", "https://www.example.com/?a")),
        ("GET /r?u=http://x/y", ("/r?u=http://x/y", "/r", "?u=http://x/y", "https://www.example.com/r?u=http://x/y")),
        ("GET /a%2Fb/./c", ("/a%2Fb/./c", "/a%2Fb/./c", "?", "https://www.example.com/a%2Fb/./c")),
    ],
)
def test_forms_of_the_request_target(line: str, expected_parts: tuple[str, str, str, str]) -> None:
    """RFC 9421 2.2.5: the target as sent; path and query are taken out of it, undecoded."""
    message = http_message_text.read(f"{line} HTTP/1.1\nHost: www.example.com\n\n".encode()).message
    again = http_message_text.read(http_message_text.write(message), scheme=message.scheme).message
    for message_form in (message, again):
        assert expected_parts == tuple(
            value(name, message_form) for name in ("@request-target", "@path", "@query", "@target-uri")
        )


def test_an_empty_target_is_a_slash() -> None:
    """As an agent may be given it: an empty path, and everything before the ? untouched."""
    empty = replace(REQUEST, target="")
    assert [value(name, empty) for name in ("@path", "@request-target")] == ["/", "/"]
    assert value("@path", replace(REQUEST, target="http://x/y?z")) == "http://x/y"


def test_a_response_speaks_of_its_request_by_req_only() -> None:
    """RFC 9421 2.4: with req the request's value, without it the component belongs to no response."""
    assert value("@status", RESPONSE) == "503"
    assert value('"@method";req', RESPONSE) == "POST"
    assert value('"@query-param";name="foo";req', RESPONSE) == "bar"
    asking_response = replace(RESPONSE, request=replace(REQUEST, headers=(("Signature", "a=:AQ==:"),)))
    assert value('"signature";req;key="a"', asking_response) == ":AQ==:"
    assert refusal('"@method"', RESPONSE) is Code.UNSUPPORTED_COMPONENT
    assert refusal('"@query-param";name="foo"', RESPONSE) is Code.UNSUPPORTED_COMPONENT
    assert refusal('"@method";req', REQUEST) is Code.UNSUPPORTED_COMPONENT
    assert refusal('"@method";req', replace(RESPONSE, request=None)) is Code.UNSUPPORTED_COMPONENT
    assert refusal('"x-none";req', RESPONSE) is Code.MISSING_COMPONENT
    assert refusal('"@status"', REQUEST) is Code.MISSING_COMPONENT


def test_trailers_are_never_joined_with_headers() -> None:
    """RFC 9421 2.1.4: tr looks into the trailers alone, its absence into the headers alone."""
    message = Message(status=200, headers=(("X-Sum", "1"),), trailers=(("X-Sum", "2"), ("X-Sum", "3")))
    assert (value("x-sum", message), value('"x-sum";tr', message)) == ("1", "2, 3")
    assert refusal('"x-sum";tr', replace(message, trailers=())) is Code.MISSING_COMPONENT
    assert refusal('"x-sum";tr', replace(message, trailers=None)) is Code.UNSUPPORTED_COMPONENT
    assert refusal('"@status";tr', message) is Code.UNSUPPORTED_COMPONENT


@pytest.mark.parametrize(
    ("identifier", "code"),
    [
        ('"@body"', Code.UNSUPPORTED_COMPONENT),
        ('"@signature-params"', Code.UNSUPPORTED_COMPONENT),
        ('"Date"', Code.UNSUPPORTED_COMPONENT),
        ('"date";sf', Code.UNSUPPORTED_COMPONENT),
        ('"example-dict";sf', Code.UNSUPPORTED_COMPONENT),
        ('"date";key="a"', Code.UNSUPPORTED_COMPONENT),
        ('"date";lower', Code.UNSUPPORTED_COMPONENT),
        ('"@path";sf', Code.UNSUPPORTED_COMPONENT),
        ('"date";bs=1', Code.UNSUPPORTED_COMPONENT),
        ('"date";bs=?0', Code.UNSUPPORTED_COMPONENT),
        ('"example-dict";bs;key="a"', Code.UNSUPPORTED_COMPONENT),
        ('"example-dict";key=a', Code.UNSUPPORTED_COMPONENT),
        ('"@query-param"', Code.UNSUPPORTED_COMPONENT),
        ('"@query-param";name=a', Code.UNSUPPORTED_COMPONENT),
        ('"@query-param";name="a"', Code.MISSING_COMPONENT),
        ('"x-none"', Code.MISSING_COMPONENT),
        ('"x-none";bs', Code.MISSING_COMPONENT),
        ('"example-dict";key="e"', Code.MISSING_COMPONENT),
    ],
)
def test_what_has_no_value_is_refused_by_name(identifier: str, code: Code) -> None:
    """RFC 9421 2.5: an error and no base; missing components are distinguished from unknown ones."""
    assert code is refusal(identifier, FIELDS)


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "a\x00b", "caf\xe9", "a\x7fb"])
def test_a_value_is_one_line_of_ascii(text: str) -> None:
    """A line break could add lines to the base; bs covers any byte."""
    message = Message(headers=(("X-Note", text),))
    assert refusal('"x-note"', message) is Code.UNSUPPORTED_COMPONENT
    assert value('"x-note";bs', message).startswith(":")
    assert refusal('"@method"', Message(method=f"GET{text}")) is Code.UNSUPPORTED_COMPONENT


def test_a_repeated_query_parameter_is_not_covered() -> None:
    """RFC 9421 2.2.8; two names that decode alike are one."""
    for target in ("/?a=1&a=2", "/?a=1&%61=1"):
        assert refusal('"@query-param";name="a"', replace(REQUEST, target=target)) is Code.UNSUPPORTED_COMPONENT


def base(message: Message, components: str, *, compatible: bool = False, **parameters: int | str) -> Base:
    coverage = Coverage(tuple(Component(name) for name in components.split()), tuple(parameters.items()))
    return signature_base(message, coverage, parameters_as_components=compatible)


def test_a_base_is_the_components_in_order_and_the_parameters_last() -> None:
    """RFC 9421 2.5, without a line feed at the end; an empty value leaves a space before the end of its line."""
    signature_base = base(FIELDS, "cache-control x-empty-header @method", created=1, keyid='a"b')
    lines = [
        '"cache-control": max-age=60, must-revalidate',
        '"x-empty-header": ',
        '"@method": GET',
        r'"@signature-params": ("cache-control" "x-empty-header" "@method");created=1;keyid="a\"b"',
    ]
    assert "\n".join(lines) == signature_base.text


def test_a_base_with_a_fault_is_none_and_names_each() -> None:
    """All components are looked at; what could be made is kept for people."""
    signature_base = base(FIELDS, "@method x-none @method @nothing")
    assert signature_base.text is None
    expected_codes = [Code.DUPLICATE_COMPONENT, Code.MISSING_COMPONENT, Code.UNSUPPORTED_COMPONENT]
    assert expected_codes == [fault.code for fault in signature_base.faults]
    assert [line.identifier for line in signature_base.lines] == ['"@method"', '"@signature-params"']


def test_parameters_covered_by_name_are_taken_only_where_they_are_wanted() -> None:
    """P-AG-07: the parameter stands for the component, unless a field has the name; RFC 9421 alone refuses it."""
    assert base(FIELDS, "created", created=5).faults[0].code is Code.MISSING_COMPONENT
    signature_base = base(FIELDS, "created expires", compatible=True, created=5, expires=6)
    assert (signature_base.text or "").startswith('"created": 5\n"expires": 6\n')
    assert signature_base.substituted_names == ("created", "expires")
    assert base(FIELDS, "created", compatible=True, expires=6).faults[0].code is Code.MISSING_COMPONENT
    field = replace(FIELDS, headers=(("Created", "yesterday"),))
    signature_base = base(field, "created", compatible=True, created=5)
    assert ((signature_base.text or "").partition("\n")[0], signature_base.substituted_names) == (
        '"created": yesterday',
        (),
    )


def test_identity_ignores_the_order_of_parameters() -> None:
    """RFC 9421 2: the same parameters in another order are the same component."""
    first_component, two = (read_component(f'"a";{text}') for text in ('key="x";sf', 'sf;key="x"'))
    assert first_component.identity == two.identity
    assert str(first_component) != str(two)
