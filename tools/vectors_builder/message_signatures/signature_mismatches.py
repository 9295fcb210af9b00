"""Signatures that are not the expected key's over what the message is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final

from conformance.oracles.message_signatures.faults import Code
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.message_signatures.drafting import (
    ALICE,
    BOB,
    CREATED,
    OFFLINE,
    PARAMETERS,
    Members,
    attach_signature,
    draft_refusal,
    edit_header,
    get,
    replace_signature,
    sign,
    signature_of,
    with_headers,
)
from tools.vectors_builder.message_signatures.valid_offline import answer

_COVER: Final = '"@method" "@authority" "@path" "@query" "accept"'
_L: Final = 2**252 + 27742317777372353535851937790883648493


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _control_data()
    yield from _fields()
    yield from _structured_drafts()
    yield from _parameters()
    yield from _keys()
    yield from _bytes()
    yield from _careless_signers()
    yield from _careless_serialisers()
    yield from _careless_hashers()
    yield from _responses()


def _bad(kind: str, variant: str, message: Members, fault: str, why: str, *rows: str, **more: Any) -> Draft:
    code = Code.SIGNATURE_MISMATCH
    return draft_refusal(f"equation/{kind}", variant, message, code, fault, why, "AGENT-VERIFY-02", *rows, **more)


def _control_data() -> Iterator[Draft]:
    row = "AGENT-VERIFY-08"
    message = sign(get(), _COVER)
    why = "what is covered must not change"
    for kind, variant, members in (
        ("method", "another", {"method": "DELETE"}),
        ("method", "lower-case", {"method": "get"}),
        ("path", "another", {"path": "/orders/8?expand=items&page=2"}),
        ("path", "slash-added", {"path": "/orders/7/?expand=items&page=2"}),
        ("path", "letter-case", {"path": "/Orders/7?expand=items&page=2"}),
        ("query", "value", {"path": "/orders/7?expand=items&page=3"}),
        ("query", "order", {"path": "/orders/7?page=2&expand=items"}),
        ("query", "taken-away", {"path": "/orders/7"}),
        ("authority", "another", {"authority": "api.example.com"}),
        ("authority", "port-added", {"authority": "api.example.org:8443"}),
        ("authority", "other-default-port", {"authority": "api.example.org:80"}),
    ):
        fault = f"the {kind} is another than was signed ({variant})"
        yield _bad(f"{kind}-changed", variant, {**message, **members}, fault, why, row)
    encoded_target = sign(get(path="/a%2Fb?x=%20"), '"@path" "@query"')
    for variant, path in (("path-decoded", "/a/b?x=%20"), ("query-as-plus", "/a%2Fb?x=+"), ("case", "/a%2fb?x=%20")):
        changed_message = {**encoded_target, "path": path}
        fault = "a percent-encoding was written in another way"
        yield _bad("escapes-changed", variant, changed_message, fault, "nothing is decoded before signing", row)
    for kind, variant, component, members in (
        ("scheme", "http", "@scheme", {"scheme": "http"}),
        ("target-uri", "scheme", "@target-uri", {"scheme": "http"}),
        ("target-uri", "query", "@target-uri", {"path": "/orders/7?expand=items"}),
        ("request-target", "path", "@request-target", {"path": "/orders/9?expand=items&page=2"}),
        ("request-target", "query", "@request-target", {"path": "/orders/7?expand=items&page=22"}),
    ):
        changed_message = {**sign(get(), f'"{component}"'), **members}
        yield _bad(f"{kind}-changed", variant, changed_message, f"{component} is another than was signed", why, row)
    query_parameter = sign(get(), '"@query-param";name="page" "@method"')
    for variant, path in (("value", "/orders/7?page=3"), ("emptied", "/orders/7?page=")):
        changed_message = {**query_parameter, "path": path}
        yield _bad(
            "query-param-changed", variant, changed_message, "a covered query parameter has another value", why, row
        )


def _fields() -> Iterator[Draft]:
    row, why = "AGENT-VERIFY-08", "what is covered must not change"
    message = sign(get(), _COVER)
    for variant, value in (("value", "text/plain"), ("letter-case", "Application/JSON"), ("emptied", "")):
        changed_message = with_headers(message, accept=value)
        yield _bad("field-changed", variant, changed_message, "a covered field has another value", why, row)
    several = sign(with_headers(get(), accept=["a/a", "b/b"]), '"accept" "@method"')
    for variant, lines in (("swapped", ["b/b", "a/a"]), ("one-less", ["a/a"]), ("one-more", ["a/a", "b/b", "c/c"])):
        changed_message = with_headers(several, accept=lines)
        yield _bad("field-lines-changed", variant, changed_message, f"a covered field's lines were {variant}", why, row)
    spaced_value = sign(with_headers(get(), x_note="a,b  c"), '"x-note"')
    for variant, text in (("comma-space", "a, b  c"), ("space-collapsed", "a,b c")):
        changed_message = with_headers(spaced_value, x_note=text)
        yield _bad("inner-space-changed", variant, changed_message, "space inside a value is signed", why, row)
    raw = sign(with_headers(get(), example_header=["value, with, lots", "of, commas"]), '"example-header";bs')
    why = "with bs each line is kept apart (RFC 9421 2.1.3)"
    for variant, lines in (
        ("joined", ["value, with, lots, of, commas"]),
        ("cut-elsewhere", ["value", "with, lots, of, commas"]),
    ):
        changed_message = with_headers(raw, example_header=lines)
        yield _bad("bs-lines-changed", variant, changed_message, "the lines are divided in another way", why, row)


def _structured_drafts() -> Iterator[Draft]:
    row, why = "AGENT-VERIFY-08", "what is covered must not change"
    message = with_headers(get(), priority="u=1,  i")
    strict = sign(message, '"priority";sf "@method"')
    for variant, value in (("value", "u=2, i"), ("order", "i, u=1")):
        changed_message = with_headers(strict, priority=value)
        yield _bad(
            "sf-changed", variant, changed_message, "the dictionary is another one, not only its spelling", why, row
        )
    dictionary_member = sign(message, '"priority";key="u" "@method"')
    for variant, value in (("value", "u=2, i"), ("parameter-added", "u=1;x, i")):
        changed_message = with_headers(dictionary_member, priority=value)
        yield _bad("member-changed", variant, changed_message, "the covered member is another", why, row)


def _parameters() -> Iterator[Draft]:
    why = "the parameters are signed, in their order"
    message = sign(get(), _COVER, f'{PARAMETERS};nonce="n1"')
    for kind, variant, old, new in (
        ("parameter-changed", "created", f"={CREATED}", f"={CREATED + 1}"),
        ("parameter-changed", "nonce", '"n1"', '"n2"'),
        ("parameter-changed", "keyid", '"alice"', '"bob"'),
        ("parameter-moved", "added", ';nonce="n1"', ';nonce="n1";tag="t"'),
        ("parameter-moved", "removed", ';nonce="n1"', ""),
        ("parameter-moved", "order", f';created={CREATED};keyid="alice"', f';keyid="alice";created={CREATED}'),
        ("component-moved", "order", '"@method" "@authority"', '"@authority" "@method"'),
        ("component-moved", "removed", ' "accept"', ""),
        ("component-moved", "added", ' "accept"', ' "accept" "date"'),
        ("component-altered", "bs-added", '"accept"', '"accept";bs'),
        ("component-altered", "exchanged", '"accept"', '"date"'),
    ):
        changed_message = edit_header(message, "Signature-Input", old, new)
        yield _bad(kind, variant, changed_message, f"Signature-Input was changed after signing ({variant})", why)
    with_expiry = sign(get(), _COVER, f";created={CREATED};expires={CREATED + 60}")
    changed_message = edit_header(with_expiry, "Signature-Input", f"={CREATED + 60}", "=9999999999")
    yield _bad("expiry-extended", "by-a-proxy", changed_message, "expires was moved into the future", why)


def _keys() -> Iterator[Draft]:
    row, why = "AGENT-VERIFY-06", "the caller's key decides"
    by_bob = sign(get(), _COVER, by=BOB)
    yield _bad("another-key", "hex", by_bob, "somebody else signed", why, row)
    yield _bad("another-key", "did-key", by_bob, "somebody else signed", why, row, key=ALICE.did)
    row, why = "AGENT-VERIFY-07", "keyid never chooses the key"
    for variant, keyid in (
        ("did-key", BOB.did["did_key"]),
        ("hex", BOB.raw.hex()),
        ("address", "https://bob.example/key"),
    ):
        message = sign(get(), _COVER, f';created={CREATED};keyid="{keyid}"', by=BOB)
        yield _bad(
            "keyid-of-the-signer", variant, message, "keyid names the key that signed, not the expected", why, row
        )
    turned_key = bytes([*ALICE.raw[:31], ALICE.raw[31] ^ 0x80])
    negated_key = {"algorithm": "ed25519", "public_key_hex": turned_key.hex()}
    yield _bad("key-altered", "sign", sign(get(), _COVER), "the key's sign bit is turned", why, key=negated_key)


def _bytes() -> Iterator[Draft]:
    why = "every bit of a signature counts"
    message = sign(get(), _COVER)
    signature = signature_of(message)
    r, s = signature[:32], signature[32:]
    for variant, place in (("first-byte", 0), ("in-r", 31), ("in-s", 32)):
        flipped_signature = bytearray(signature)
        flipped_signature[place] ^= 1
        yield _bad(
            "bit-flipped",
            variant,
            replace_signature(message, bytes(flipped_signature)),
            f"a bit of byte {place} is turned",
            why,
        )
    for variant, raw in (("too-short", signature[:63]), ("too-long", signature + b"\x00"), ("empty", b"")):
        yield _bad("signature-length", variant, replace_signature(message, raw), "the signature has not 64 bytes", why)
    for variant, raw in (("zeros", bytes(64)), ("r-and-s-swapped", s + r), ("r-alone", r + bytes(32))):
        yield _bad("signature-made-up", variant, replace_signature(message, raw), "the bytes are no signature", why)
    longer = r + (int.from_bytes(s, "little") + _L).to_bytes(32, "little")
    fault, why = "S is the same number plus the group's order", "a signature has one S (RFC 8032 5.1.7)"
    yield _bad("s-not-reduced", "plus-l", replace_signature(message, longer), fault, why)
    why = "a signature belongs to its message"
    older = sign(get(), _COVER, f';created={CREATED - 5};keyid="alice"')
    for variant, other_message in (("of-another-request", sign(get(path="/x"), _COVER)), ("of-an-older-one", older)):
        changed_message = replace_signature(message, signature_of(other_message))
        yield _bad("signature-of-another", variant, changed_message, "the signature was made for another message", why)


def _nearly() -> tuple[str, list[str], str]:
    """Return what is covered, the lines of its values, and the right base of both."""
    inner = f'("@method" "@path"){PARAMETERS}'
    lines = ['"@method": GET', '"@path": /orders/7']
    return inner, lines, "\n".join([*lines, f'"@signature-params": {inner}'])


def _careless_signers() -> Iterator[Draft]:
    """Yield what signers get wrong: each signs something that is nearly the signature base."""
    inner, lines, base = _nearly()
    why = "the base is byte-exact (RFC 9421 2.5)"
    for kind, variant, text, fault in (
        ("base-line-ends", "final-line-feed", f"{base}\n", "the signer's base ends in a line feed"),
        ("base-line-ends", "crlf", base.replace("\n", "\r\n"), "the signer's base has CRLF"),
        ("base-parameters", "none", "\n".join(lines), "the signer's base lacks the line of the parameters"),
        ("base-parameters", "with-label", base.replace(": (", ": sig1=("), "the signer's base has the label in it"),
        (
            "base-parameters",
            "no-list",
            base.replace('("@method" "@path")', ""),
            "the signer's base has the parameters without the list",
        ),
        ("base-names", "no-quotes", base.replace('"@method":', "@method:"), "names without quotes"),
        ("base-names", "no-space", base.replace(": ", ":"), "no space after the colons"),
        ("base-names", "lower-case-method", base.replace("GET", "get"), "the signer put the method in lower case"),
    ):
        message = attach_signature(get(), inner, text)
        yield _bad(kind, variant, message, fault, why)


def _careless_serialisers() -> Iterator[Draft]:
    """Yield bases with one line that the signer wrote in another way."""
    inner, lines, _ = _nearly()
    spaced_list = f'( "@method"  "@path" ){PARAMETERS}'
    message = attach_signature(get(), spaced_list, "\n".join([*lines, f'"@signature-params": {spaced_list}']))
    fault = "the signer signed Signature-Input as sent, not in its one serialisation"
    yield _bad("base-not-serialised", "spaces", message, fault, "parameters are written anew (RFC 9421 2.3)")
    padded_list = f'("@method" "@path");created=0{CREATED};keyid="alice"'
    message = attach_signature(get(), padded_list, "\n".join([*lines, f'"@signature-params": {padded_list}']))
    yield _bad("base-not-serialised", "leading-zero", message, fault, "parameters are written anew (RFC 9421 2.3)")
    query_in_path = f'"@method": GET\n"@path": /orders/7?expand=items&page=2\n"@signature-params": {inner}'
    fault = "the signer put the query inside @path"
    yield _bad(
        "base-values",
        "query-in-path",
        attach_signature(get(), inner, query_in_path),
        fault,
        "@path ends before the ? (P-AG-08)",
    )
    cover = f'("@query"){PARAMETERS}'
    text = f'"@query": expand=items&page=2\n"@signature-params": {cover}'
    fault = "the signer left out the question mark of @query"
    yield _bad("base-values", "query-without-mark", attach_signature(get(), cover, text), fault, "@query begins with ?")
    cover = f'("@authority"){PARAMETERS}'
    text = f'"@authority": api.example.org:443\n"@signature-params": {cover}'
    fault = "the signer kept the default port"
    message = attach_signature(get(authority="api.example.org:443"), cover, text)
    yield _bad("base-values", "default-port", message, fault, "the default port is left out (RFC 9421 2.2.3)")


def _careless_hashers() -> Iterator[Draft]:
    """Yield signatures of a digest of the base."""
    inner, _, base = _nearly()
    for variant, digest in (("sha-256", hashlib.sha256), ("sha-512", hashlib.sha512)):
        hash_text = digest(base.encode()).digest().decode("latin-1")
        fault = f"the signer signed the {variant} of the base"
        message = attach_signature(get(), inner, hash_text)
        yield _bad("base-hashed", variant, message, fault, "Ed25519 takes the base itself (RFC 9421 3.3.6)")


def _responses() -> Iterator[Draft]:
    row, why = "AGENT-VERIFY-08", "what is covered must not change"
    plain = with_headers({**get(), "status": 200}, content_type="text/plain")
    message = sign(plain, '"@status" "content-type"')
    for variant, status in (("error-made-success", 200), ("another-success", 201)):
        source = message if status != 200 else sign({**plain, "status": 402}, '"@status" "content-type"')
        yield _bad("status-changed", variant, {**source, "status": status}, "the status is another", why, row)
    bound_response = sign(answer(), '"@status" "@method";req "@path";req')
    other_response = {**bound_response, "related_request": {**bound_response["related_request"], "path": "/refunds"}}
    fault, why = "the response is shown with another request", "req binds a response to its request"
    yield _bad("request-exchanged", "path", other_response, fault, why, doors=OFFLINE)
    with_trailer = sign(answer(trailers={"X-Sum": "1"}), '"@status" "x-sum";tr')
    other_response = {**with_trailer, "trailers": {"X-Sum": "2"}}
    yield _bad(
        "trailer-changed",
        "value",
        other_response,
        "a covered trailer has another value",
        "trailers count",
        doors=OFFLINE,
    )
