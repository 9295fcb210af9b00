"""Lists of covered components that a verifier must not accept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from conformance.oracles.message_signatures.faults import Code
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.message_signatures.drafting import (
    CREATED,
    OFFLINE,
    PARAMETERS,
    Members,
    attach_signature,
    draft_refusal,
    forge,
    get,
    sign,
    with_headers,
)
from tools.vectors_builder.message_signatures.valid_offline import answer

_METHOD: Final = ('"@method"', "GET")
Lines = list[tuple[str, str]]


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _repetition_drafts()
    yield from _unknown()
    yield from _parameters()
    yield from _other_message()
    yield from _structured_drafts()
    yield from _query_parameters()
    yield from _missing_drafts()
    yield from _values()
    yield from _policy()


def _bad(kind: str, variant: str, message: Members, lines: Lines, fault: str, why: str, **more: Any) -> Draft:
    """Return a vector that a verifier without this rule would accept: the lines given are truly signed."""
    forged_message = forge(message, lines)
    return draft_refusal(f"coverage/{kind}", variant, forged_message, Code.UNSUPPORTED_COMPONENT, fault, why, **more)


def _draft_gone(kind: str, variant: str, message: Members, lines: Lines, fault: str, why: str, **more: Any) -> Draft:
    forged_message = forge(message, lines)
    return draft_refusal(
        f"coverage/{kind}", variant, forged_message, Code.MISSING_COMPONENT, fault, why, "AGENT-VERIFY-13", **more
    )


def _repetition_drafts() -> Iterator[Draft]:
    row, why = "AGENT-VERIFY-14", "each identifier occurs once (RFC 9421 2)"
    accept = ('"accept"', "application/json")
    page = ('"@query-param";name="page"', "2")
    priority = with_headers(get(), priority="u=1")
    reversed_parameters = [('"priority";key="u";sf', "1"), ('"priority";sf;key="u"', "1"), _METHOD]
    for kind, variant, message, lines, fault in (
        ("repeated-name", "derived", get(), [_METHOD, _METHOD], "@method is covered twice"),
        ("repeated-name", "field", get(), [accept, _METHOD, accept], "a field is covered twice"),
        ("repeated-name", "three-times", get(), [_METHOD, _METHOD, _METHOD], "@method is covered three times"),
        ("repeated-with-parameters", "query-param", get(), [page, _METHOD, page], "a query parameter is covered twice"),
        ("repeated-with-parameters", "order", priority, reversed_parameters, "the same parameters in another order"),
    ):
        code = Code.DUPLICATE_COMPONENT
        yield draft_refusal(f"coverage/{kind}", variant, forge(message, lines), code, fault, why, row)
    empty = "a signature over nothing fits any message"
    for variant, parameters in (("with-parameters", PARAMETERS), ("without", "")):
        yield draft_refusal(
            "coverage/nothing",
            variant,
            forge(get(), [], parameters),
            Code.EMPTY_COMPONENTS,
            "nothing is covered",
            empty,
            pins=("profile 6.3 empty_components",),
        )


def _unknown() -> Iterator[Draft]:
    why = "a derived name that is not known cannot be derived (RFC 9421 2.5)"
    for variant, identifier, value in (
        ("made-up", '"@body"', "x"),
        ("of-a-draft", '"@query-params";name="page"', "2"),
        ("of-an-older-draft", '"@request-response";key="sig1"', ":AAAA:"),
    ):
        fault = f"{identifier} is no derived component of RFC 9421"
        yield _bad("derived-unknown", variant, get(), [_METHOD, (identifier, value)], fault, why)
    fault = "@signature-params is in the list of covered components"
    why = "it is always the last line and never in the list (RFC 9421 2.3)"
    for variant, value in (("empty-value", ""), ("its-own-value", f'("@method" "@signature-params"){PARAMETERS}')):
        yield _bad("signature-params", variant, get(), [_METHOD, ('"@signature-params"', value)], fault, why)
    why = "identifiers are in lower case (RFC 9421 2.1)"
    for variant, identifier, value in (
        ("field", '"Accept"', "application/json"),
        ("derived", '"@Authority"', "api.example.org"),
    ):
        fault, pins = "a name has an upper-case letter", ("RFC 9421 2.1 binds the signer",)
        yield _bad("upper-case", variant, get(), [_METHOD, (identifier, value)], fault, why, pins=pins)
    for variant, identifier in (("space", '"accept "'), ("colon", '"accept:"'), ("empty", '""')):
        fault = "a component's name is no field name"
        yield _draft_gone("no-field-name", variant, get(), [_METHOD, (identifier, "application/json")], fault, why)


def _parameters() -> Iterator[Draft]:
    why = "a parameter that is not understood is an error (RFC 9421 2.5)"
    fault = "a component bears a parameter that RFC 9421 does not give it"
    for variant, identifier, value in (
        ("field", '"accept";lower', "application/json"),
        ("derived", '"@path";sf', "/orders/7"),
        ("query-param", '"@query-param";name="page";sf', "2"),
    ):
        yield _bad("parameter-unknown", variant, get(), [_METHOD, (identifier, value)], fault, why)
    why = "sf, bs, req and tr are flags"
    for variant, identifier, value in (
        ("number", '"accept";bs=1', ":YXBwbGljYXRpb24vanNvbg==:"),
        ("string", '"accept";bs="yes"', ":YXBwbGljYXRpb24vanNvbg==:"),
        ("false", '"accept";bs=?0', "application/json"),
    ):
        fault = f"{identifier}: the flag bears a value"
        yield _bad(
            "flag-with-a-value", variant, get(), [_METHOD, (identifier, value)], fault, why, pins=("P-AG-02 flags",)
        )
    why = "bs keeps the raw lines, sf and key read them (RFC 9421 2.1)"
    plain = with_headers(get(), priority="u=1")
    for variant, identifier, value in (
        ("bs-and-sf", '"priority";bs;sf', ":dT0x:"),
        ("bs-and-key", '"priority";key="u";bs', ":dT0x:"),
    ):
        fault = "two parameters exclude each other"
        yield _bad("parameters-exclude", variant, plain, [_METHOD, (identifier, value)], fault, why)
    why = "key is a String that names a member"
    for variant, identifier, value in (("token", '"priority";key=u', "1"), ("flag", '"priority";key', "u=1")):
        yield _bad("key-not-a-string", variant, plain, [_METHOD, (identifier, value)], "key is no String", why)


def _other_message() -> Iterator[Draft]:
    why = "req speaks of the request behind a response (RFC 9421 2.4)"
    fault = "a request covers a component with req"
    for variant, identifier, value in (
        ("derived", '"@method";req', "GET"),
        ("field", '"accept";req', "application/json"),
        ("query-param", '"@query-param";name="page";req', "2"),
    ):
        yield _bad("req-in-a-request", variant, get(), [('"@path"', "/orders/7"), (identifier, value)], fault, why)
    why = "a message without that trailer has no such component"
    for variant, identifier, value in (("header", '"accept";tr', "application/json"), ("nothing", '"expires";tr', "")):
        yield _bad("tr-without-trailers", variant, get(), [_METHOD, (identifier, value)], "there are no trailers", why)
    yield _bad(
        "tr-on-derived", "method", get(), [('"@method";tr', "GET"), ('"@path"', "/orders/7")], "tr is for fields", why
    )
    why = "@status belongs to responses (RFC 9421 2.2.9)"
    for variant, value in (("200", "200"), ("empty", "")):
        lines = [_METHOD, ('"@status"', value)]
        yield _draft_gone("status-of-a-request", variant, get(), lines, "a request has no status", why)
    why = "a response has no method, authority or path of its own (RFC 9421 2.2)"
    for variant, identifier, value in (
        ("method", '"@method"', "GET"),
        ("authority", '"@authority"', "api.example.org"),
        ("query-param", '"@query-param";name="page"', "2"),
    ):
        lines = [('"@status"', "200"), (identifier, value)]
        fault = "a response covers a request's component without req"
        yield _bad("request-part-of-a-response", variant, answer(), lines, fault, why, doors=OFFLINE)
    alone = {name: value for name, value in answer().items() if name != "related_request"}
    lines = [('"@status"', "200"), ('"@method";req', "POST")]
    yield _bad("req-without-a-request", "derived", alone, lines, "the request is not known", why, doors=OFFLINE)
    lines = [('"@status"', "200"), ('"x-none";req', "")]
    fault = "the request has no such field"
    yield _draft_gone(
        "req-field-absent", "field", answer(), lines, fault, "req looks into the request only", doors=OFFLINE
    )
    lines = [('"@status"', "200"), ('"expires";tr', "")]
    fault = "the trailers have no such field"
    with_trailer = answer(trailers={"X-Sum": "1"})
    yield _draft_gone(
        "tr-field-absent", "field", with_trailer, lines, fault, "tr looks into the trailers only", doors=OFFLINE
    )


def _structured_drafts() -> Iterator[Draft]:
    why = "only what is known to be a structured field can be written strictly (RFC 9421 2.5)"
    note = with_headers(get(), x_note="a=1")
    for variant, message, identifier, value in (
        ("date", note, '"date";sf', "Wed, 01 Jan 2025 00:00:00 GMT"),
        ("unknown-field", note, '"x-note";sf', "a=1"),
    ):
        lines = [_METHOD, (identifier, value)]
        pins = ("P-AG-02 known structured fields",)
        yield _bad("sf-on-an-unstructured-field", variant, message, lines, "its type is not known", why, pins=pins)
    why = "a field whose value is malformed has no component value (RFC 9421 2.5)"
    broken_field = with_headers(get(), priority="u=1,, i")
    for variant, identifier in (("sf", '"priority";sf'), ("key", '"priority";key="u"')):
        lines = [_METHOD, (identifier, "1" if variant == "key" else "u=1,, i")]
        yield _bad("field-malformed", variant, broken_field, lines, "the field is no dictionary", why)
    date = [_METHOD, ('"date";key="wed"', "?1")]
    yield _bad("key-on-no-dictionary", "date", get(), date, "the field is no dictionary", why)
    item = with_headers(get(), x_item='"a string"')
    lines = [_METHOD, ('"x-item";key="a"', "1")]
    yield _bad("key-on-no-dictionary", "item", item, lines, "the field is an Item", why)


def _query_parameters() -> Iterator[Draft]:
    why = "@query-param needs the parameter name (RFC 9421 2.2.8)"
    lines = [_METHOD, ('"@query-param"', "2")]
    yield _bad("query-param-unnamed", "no-name", get(), lines, "it has no name", why)
    lines = [_METHOD, ('"@query-param";name=page', "2")]
    yield _bad("query-param-unnamed", "token", get(), lines, "the name is a Token", why)
    why = "a name that occurs several times must not be covered (RFC 9421 2.2.8)"
    for variant, path, value in (
        ("two-values", "/s?a=1&a=2", "1"),
        ("same-value", "/s?a=1&b=3&a=1", "1"),
        ("encoded-alike", "/s?a=1&%61=2", "2"),
    ):
        lines = [_METHOD, ('"@query-param";name="a"', value)]
        yield _bad("query-param-repeated", variant, get(path=path), lines, "the query has the name twice", why)


def _missing_drafts() -> Iterator[Draft]:
    why = "a covered component that the message does not have is an error (RFC 9421 2.5)"
    for variant, name in (("never-there", "x-tenant"), ("content-digest", "content-digest"), ("host", "host")):
        lines = [_METHOD, (f'"{name}"', "")]
        yield _draft_gone("field-absent", variant, get(), lines, f"the message has no {name}", why)
    lines = [_METHOD, ('"expires"', "")]
    yield _draft_gone(
        "parameter-as-field", "expires", get(), lines, "expires is a parameter, and there is no such field", why
    )
    stripped_message = with_headers(sign(with_headers(get(), x_tenant="7"), '"@method" "x-tenant"'), "x-tenant")
    for variant, message in (
        ("by-a-proxy", stripped_message),
        ("and-another-left", with_headers(stripped_message, x_tenant_id="7")),
    ):
        code = Code.MISSING_COMPONENT
        fault = "a field was removed after signing"
        yield draft_refusal(
            "coverage/field-removed", variant, message, code, fault, why, "AGENT-VERIFY-13", "AGENT-VERIFY-08"
        )
    dictionary = with_headers(get(), priority="u=1")
    for variant, identifier in (("member", '"priority";key="i"'), ("letter-case", '"priority";key="U"')):
        lines = [_METHOD, (identifier, "")]
        yield _draft_gone("member-absent", variant, dictionary, lines, "the dictionary has no such member", why)
    for variant, identifier in (
        ("never-there", '"@query-param";name="size"'),
        ("letter-case", '"@query-param";name="Page"'),
    ):
        lines = [_METHOD, (identifier, "")]
        yield _draft_gone("query-param-absent", variant, get(), lines, "the query has no such parameter", why)


def _values() -> Iterator[Draft]:
    why = "a line break in a value would add lines to the signature base"
    pins = ("decision 0005: a value is one line",)
    with_line_break = with_headers(get(method="DELETE"), x_note='a\n"@method": GET')
    base = f'"x-note": a\n"@method": GET\n"@signature-params": ("x-note"){PARAMETERS}'
    broken_message = attach_signature(with_line_break, f'("x-note"){PARAMETERS}', base)
    code = Code.UNSUPPORTED_COMPONENT
    yield draft_refusal(
        "coverage/line-break", "line-feed", broken_message, code, "a field's value has a line feed", why, pins=pins
    )
    with_carriage_return = with_headers(get(), x_note="a\rb")
    lines = [('"x-note"', "a\rb")]
    yield _bad(
        "line-break",
        "carriage-return",
        with_carriage_return,
        lines,
        "a field's value has a carriage return",
        why,
        pins=pins,
    )
    zero = with_headers(get(), x_note="a\x00b")
    yield _bad("control-character", "nul", zero, [('"x-note"', "a\x00b")], "a field's value has a NUL", why, pins=pins)
    why = "the signature base is ASCII (RFC 9421 2.5)"
    for variant, text in (("latin", "caf\xe9"), ("control-beyond", "a\x80b")):
        message = with_headers(get(), x_note=text)
        lines = [_METHOD, ('"x-note"', text)]
        yield _bad("not-ascii", variant, message, lines, "a field's value is not ASCII", why, pins=pins)


def _policy() -> Iterator[Draft]:
    message = sign(get(), '"@method" "@path" "accept"', f";created={CREATED}")
    why = "what the caller demands must be covered"
    pins = ("profile 6.2 required_components",)
    for variant, required_components, fault in (
        ("derived", ["@authority"], "@authority must be covered and is not"),
        ("field", ["@method", "date"], "date must be covered and is not"),
        ("with-parameters", ['"accept";bs'], "accept is covered, but not with bs"),
    ):
        code = Code.REQUIRED_COMPONENT_MISSING
        policy = {"required_components": required_components}
        yield draft_refusal("coverage/required", variant, message, code, fault, why, policy=policy, pins=pins)
