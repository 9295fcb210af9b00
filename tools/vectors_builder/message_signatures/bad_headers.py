"""Signature-Input and Signature that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from conformance.oracles.message_signatures.faults import Code
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.message_signatures.drafting import (
    BOB,
    CREATED,
    PARAMETERS,
    Members,
    draft_refusal,
    edit_header,
    forge,
    get,
    post,
    sign,
    with_headers,
)

_COVER: Final = '"@method" "@authority" "@path"'
_UNIQUE: Final = ("decision 0005: no repeated key",)
_TYPES: Final = ("decision 0005: types of parameters",)


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _absent()
    yield from _input_syntax()
    yield from _input_values()
    yield from _input_repeats()
    yield from _parameter_types()
    yield from _signature_syntax()
    yield from _labels()
    yield from _several_labels()


def _message() -> Members:
    return sign(get(), _COVER)


def _input(kind: str, variant: str, old: str, new: str, fault: str, why: str, **more: Any) -> Draft:
    message = edit_header(_message(), "Signature-Input", old, new)
    return draft_refusal(f"headers/{kind}", variant, message, Code.MALFORMED_SIGNATURE_INPUT, fault, why, **more)


def _signature(kind: str, variant: str, new: str, fault: str, why: str, **more: Any) -> Draft:
    message = with_headers(_message(), signature=new)
    return draft_refusal(f"headers/{kind}", variant, message, Code.MALFORMED_SIGNATURE, fault, why, **more)


def _absent() -> Iterator[Draft]:
    why = "half a signature is none"
    for variant, message in (("get", _message()), ("post", sign(post(), _COVER + ' "content-digest"'))):
        message_without = with_headers(message, "signature-input")
        text = "there is a Signature and no Signature-Input"
        yield draft_refusal("headers/input-absent", variant, message_without, Code.MISSING_SIGNATURE_INPUT, text, why)
        message_without = with_headers(message, "signature")
        text = "there is a Signature-Input and no Signature"
        yield draft_refusal("headers/signature-absent", variant, message_without, Code.MISSING_SIGNATURE, text, why)
    renamed_headers = {**_message()["headers"]}
    renamed_headers["X-Signature"] = renamed_headers.pop("Signature")
    text = "the signature is in a field of another name"
    yield draft_refusal(
        "headers/signature-absent", "renamed", {**get(), "headers": renamed_headers}, Code.MISSING_SIGNATURE, text, why
    )


def _input_syntax() -> Iterator[Draft]:
    why = "a field that is no structured dictionary must not be guessed at (RFC 8941 4.2)"
    for kind, variant, old, new, fault in (
        ("input-no-dictionary", "no-label", "sig1=", "", "the list has no label"),
        ("input-no-dictionary", "label-quoted", "sig1=", '"sig1"=', "the label is in quotes"),
        ("input-no-dictionary", "label-in-upper-case", "sig1=", "Sig1=", "the label has an upper-case letter"),
        ("input-text-after", "semicolon", 'keyid="alice"', 'keyid="alice";', "the value ends in a semicolon"),
        ("input-text-after", "comma", 'keyid="alice"', 'keyid="alice",', "the value ends in a comma"),
        ("input-text-after", "words", 'keyid="alice"', 'keyid="alice" more', "words follow the value"),
        ("input-list-broken", "not-closed", '"@path")', '"@path"', "the list is not closed"),
        ("input-list-broken", "no-space", '"@method" "@auth', '"@method""@auth', "two items stand without a space"),
        ("input-list-broken", "commas", '"@method" "@auth', '"@method", "@auth', "the items are apart by commas"),
        ("input-string-broken", "not-closed", '"@path")', '"@path)', "a component's quotes are not closed"),
        ("input-string-broken", "escape", '"@path")', '"@pa\\th")', "an escape that Strings do not have"),
        ("input-string-broken", "single-quotes", '"@path")', "'@path')", "single quotes"),
        ("input-character", "tab", '"@method" "@auth', '"@method"\t"@auth', "items are apart by a tab"),
        ("input-character", "not-ascii", '"alice"', '"älice"', "a letter beyond ASCII in keyid"),
        ("input-character", "control", '"alice"', '"al\x07ice"', "a control character in keyid"),
        ("input-parameter-broken", "no-value", f"={CREATED}", "=", "created has an equals sign and no value"),
        ("input-parameter-broken", "upper-case", "keyid=", "keyID=", "a parameter's name has an upper-case letter"),
        ("input-parameter-broken", "space-before", ";keyid", " ;keyid", "a space before a semicolon"),
        ("input-number-broken", "sixteen-digits", f"={CREATED}", f"={CREATED}000000", "an integer of 16 digits"),
        ("input-number-broken", "plus", f"={CREATED}", f"=+{CREATED}", "a number with a plus sign"),
        ("input-number-broken", "hex", f"={CREATED}", f"=0x{CREATED:x}", "a number in hexadecimal"),
    ):
        yield _input(kind, variant, old, new, fault, why)
    message = with_headers(_message(), signature_input="")
    fault = "Signature-Input is there and empty"
    yield draft_refusal(
        "headers/input-empty",
        "empty",
        message,
        Code.MISSING_SIGNATURE_INPUT,
        fault,
        "an empty dictionary holds no signature",
    )


def _input_values() -> Iterator[Draft]:
    why = "each member is a list in parentheses (RFC 9421 4.1)"
    component_list = f"({_COVER})"
    for variant, new, fault in (
        ("string", '"@method @authority @path"', "the covered list is a String"),
        ("token", "all", "the covered list is a Token"),
        ("byte-sequence", ":AAAA:", "the covered list is a byte sequence"),
    ):
        yield _input("input-not-a-list", variant, component_list, new, fault, why)
    why = "component names are Strings (RFC 9421 2)"
    for variant, item, fault in (
        ("token", "date", "a component is a Token"),
        ("integer", "7", "a component is an Integer"),
        ("list", '("date")', "a component is a list"),
    ):
        yield _input(
            "component-not-a-string", variant, f'"@path"){PARAMETERS}', f'"@path" {item}){PARAMETERS}', fault, why
        )


def _input_repeats() -> Iterator[Draft]:
    why = "what comes twice could be read either way: labels must be unique (RFC 9421 4.1)"
    message = _message()
    twice = f'sig1=("@method");created={CREATED}, {message["headers"]["Signature-Input"]}'
    yield draft_refusal(
        "headers/input-repeated-label",
        "one-line",
        with_headers(message, signature_input=twice),
        Code.MALFORMED_SIGNATURE_INPUT,
        "Signature-Input has the label twice",
        why,
        pins=_UNIQUE,
    )
    yield draft_refusal(
        "headers/input-repeated-label",
        "two-lines",
        with_headers(message, signature_input=twice.split(", ")),
        Code.MALFORMED_SIGNATURE_INPUT,
        "two lines of Signature-Input have the same label",
        why,
        pins=_UNIQUE,
    )
    for variant, first, second in (
        ("created", f";created={CREATED - 9}", f";created={CREATED}"),
        ("keyid", ';keyid="bob"', ';keyid="alice"'),
    ):
        yield draft_refusal(
            "headers/input-repeated-parameter",
            variant,
            _send_both(first, second),
            Code.MALFORMED_SIGNATURE_INPUT,
            f"the parameter {variant} occurs twice",
            why,
            pins=_UNIQUE,
        )
    other_signature = sign(get(), _COVER)["headers"]["Signature"]
    text = f"sig1=:{'A' * 86}==:, {other_signature}"
    yield _signature("signature-repeated-label", "one-line", text, "Signature has the label twice", why, pins=_UNIQUE)


def _send_both(first: str, second: str) -> Members:
    """Sign what a reader sees who takes the last of two, and send both."""
    message = sign(get(), _COVER, second)
    return edit_header(message, "Signature-Input", second, first + second)


def _parameter_types() -> Iterator[Draft]:
    why = "RFC 9421 2.3 gives each parameter its type"
    for kind, variant, parameters, fault in (
        ("created-not-an-integer", "decimal", f";created={CREATED}.5", "created is a Decimal"),
        ("created-not-an-integer", "string", f';created="{CREATED}"', "created is a String"),
        ("created-not-an-integer", "flag", ";created", "created is a flag without a value"),
        ("expires-not-an-integer", "decimal", f";created={CREATED};expires=9999999999.0", "expires is a Decimal"),
        ("expires-not-an-integer", "string", f';created={CREATED};expires="9999999999"', "expires is a String"),
        ("expires-not-an-integer", "token", f";created={CREATED};expires=never", "expires is a Token"),
        ("keyid-not-a-string", "token", ";keyid=alice", "keyid is a Token"),
        ("keyid-not-a-string", "byte-sequence", ";keyid=:YWxpY2U=:", "keyid is a byte sequence"),
        ("alg-not-a-string", "token", f";created={CREATED};alg=ed25519", "alg is a Token"),
        ("nonce-not-a-string", "integer", f";created={CREATED};nonce=12345", "nonce is an Integer"),
        ("nonce-not-a-string", "byte-sequence", f";created={CREATED};nonce=:AQID:", "nonce is a byte sequence"),
        ("tag-not-a-string", "token", f";created={CREATED};tag=shop", "tag is a Token"),
    ):
        message = forge(get(), [('"@method"', "GET"), ('"@authority"', "api.example.org")], parameters)
        yield draft_refusal(
            f"headers/{kind}", variant, message, Code.MALFORMED_SIGNATURE_INPUT, fault, why, pins=_TYPES
        )
    why = "RFC 9421 builds on RFC 8941, which has neither Dates nor Display Strings"
    for kind, variant, parameters, fault in (
        ("value", "created-as-a-date", f";created=@{CREATED}", "created is a Date of RFC 9651"),
        ("value", "expires-as-a-date", f";created={CREATED};expires=@9999999999", "expires is a Date of RFC 9651"),
        ("value", "tag-as-a-display-string", f';created={CREATED};tag=%"shop"', "tag is a Display String of RFC 9651"),
        ("further-value", "date", f";created={CREATED};seen=@{CREATED}", "a further parameter is a Date of RFC 9651"),
        (
            "further-value",
            "display-string",
            f';created={CREATED};note=%"shop"',
            "a further parameter is a Display String of RFC 9651",
        ),
    ):
        message = forge(get(), [('"@method"', "GET"), ('"@path"', "/orders/7")], parameters)
        yield draft_refusal(
            f"headers/{kind}-of-rfc-9651",
            variant,
            message,
            Code.MALFORMED_SIGNATURE_INPUT,
            fault,
            why,
            pins=("P-AG-09",),
        )


def _signature_syntax() -> Iterator[Draft]:
    why = "a signature is a byte sequence of RFC 8941"
    text = str(_message()["headers"]["Signature"])
    inner = text.removeprefix("sig1=:").removesuffix(":")
    url_safe = f"sig1=:{'-_' + inner[2:]}:"
    for kind, variant, new, fault in (
        ("signature-no-dictionary", "no-label", f":{inner}:", "the signature has no label"),
        ("signature-no-dictionary", "words", f"Signature {inner}", "words instead of a dictionary"),
        ("signature-no-dictionary", "trailing-comma", text + ",", "the value ends in a comma"),
        ("signature-not-bytes", "string", f'sig1="{inner}"', "the signature is a String"),
        (
            "signature-not-bytes",
            "token",
            "sig1=" + "a" + inner.rstrip("=").replace("+", "a"),
            "the signature is a Token",
        ),
        ("signature-not-bytes", "list", f"sig1=(:{inner}:)", "the signature is a list"),
        ("signature-base64-broken", "url-alphabet", url_safe, "letters of the URL alphabet of base64"),
        ("signature-base64-broken", "space", f"sig1=:{inner[:40]} {inner[40:]}:", "a space inside the base64"),
        ("signature-base64-broken", "one-letter-less", f"sig1=:{inner[:-3]}==:", "base64 of an impossible length"),
        ("signature-colons", "none", f"sig1={inner}", "no colons around the base64"),
        ("signature-colons", "only-one", f"sig1=:{inner}", "the second colon is missing"),
        ("signature-colons", "semicolon", f"sig1=:{inner};", "a semicolon stands in place of the second colon"),
    ):
        yield _signature(kind, variant, new, fault, why)
    for variant, new, fault in (
        ("too-long", f"sig1=:{inner}=:", "the base64 has a third equals sign"),
        ("inside", f"sig1=:{inner[:40]}=={inner[40:]}:", "equals signs in the middle of the base64"),
        ("in-front", f"sig1=:={inner}:", "an equals sign before the base64"),
    ):
        yield _signature("signature-padding-broken", variant, new, fault, why)
    message = with_headers(_message(), signature="")
    fault = "Signature is there and empty"
    yield draft_refusal("headers/signature-empty", "empty", message, Code.MISSING_SIGNATURE, fault, why)


def _labels() -> Iterator[Draft]:
    row = "AGENT-VERIFY-12"
    message = _message()
    why = "a label in one field and not in the other is an error (RFC 9421 4)"
    for variant, changed_message, fault in (
        ("renamed", edit_header(message, "Signature", "sig1=", "sig2="), "the two fields name different labels"),
        ("a-hyphen", edit_header(message, "Signature", "sig1=", "sig-1="), "the labels differ by a hyphen"),
    ):
        yield draft_refusal("headers/labels-differ", variant, changed_message, Code.LABEL_MISMATCH, fault, why, row)
    more = f'{message["headers"]["Signature-Input"]}, sig2=("@method");created={CREATED}'
    yield draft_refusal(
        "headers/label-in-one-field",
        "input",
        with_headers(message, signature_input=more),
        Code.LABEL_MISMATCH,
        "Signature-Input has a second label that Signature has not",
        why,
        row,
        pins=("profile 6.3 label_mismatch",),
    )
    more = f"{message['headers']['Signature']}, sig2=:{'A' * 86}==:"
    yield draft_refusal(
        "headers/label-in-one-field",
        "signature",
        with_headers(message, signature=more),
        Code.LABEL_MISMATCH,
        "Signature has a second label that Signature-Input has not",
        why,
        row,
        pins=("profile 6.3 label_mismatch",),
    )


def _several_labels() -> Iterator[Draft]:
    message = _message()
    doubly_signed = sign(message, '"@authority"', by=BOB, label="sig2")
    pins = ("profile 6.3 multiple_labels",)
    text = "there are two signatures and nothing says which is meant"
    yield draft_refusal(
        "headers/several-labels",
        "two-signers",
        doubly_signed,
        Code.MULTIPLE_LABELS,
        text,
        "the caller must choose",
        pins=pins,
    )
    twice = sign(message, '"@path"', label="sig2")
    yield draft_refusal(
        "headers/several-labels", "one-signer", twice, Code.MULTIPLE_LABELS, text, "the caller must choose", pins=pins
    )
    for variant, message_variant, label in (("one", message, "sig2"), ("two", doubly_signed, "sig3")):
        yield draft_refusal(
            "headers/label-not-there",
            variant,
            message_variant,
            Code.LABEL_MISMATCH,
            "the label asked for is not in the message",
            "an applicable signature is not found (RFC 9421 3.2)",
            policy={"label": label},
            pins=("profile 6.2 label",),
        )
