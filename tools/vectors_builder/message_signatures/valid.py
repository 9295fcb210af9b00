"""Messages that hold: every component, every parameter, every spelling that RFC 9421 leaves free."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator

from conformance.oracles.message_signatures.digests import digest_value
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.message_signatures.drafting import (
    ALICE,
    BOB,
    BODY,
    CREATED,
    PARAMETERS,
    get,
    holds,
    post,
    sign,
    with_body,
    with_headers,
)

_EMPTY_DIGEST = digest_value(b"")


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _derived_drafts()
    yield from _queries()
    yield from _fields()
    yield from _structured_drafts()
    yield from _parameters()
    yield from _policies()
    yield from _signatures()
    yield from _several_signatures()
    yield from _compatibility()
    yield from _statuses()
    yield from _digests()
    yield from _unsigned_changes()


def _derived_drafts() -> Iterator[Draft]:
    yield holds(
        "method",
        "of-a-post",
        sign(post(), '"@method" "@authority" "@path" "content-digest"'),
        "the cover that most clients choose",
    )
    custom = get(method="M-SEARCH")
    yield holds("method", "of-an-extension", sign(custom, '"@method" "@path"'), "any token is a method")
    lower = get(method="patch")
    why = "methods are case-sensitive: kept as is"
    yield holds("method", "in-lower-case", sign(lower, '"@method" "@path"'), why, pins=("P-AG-01 method",))
    yield holds("target-uri", "with-query", sign(get(), '"@target-uri"'), "the whole URI is put together again")
    bare = get(path="/")
    yield holds("target-uri", "of-the-root", sign(bare, '"@target-uri" "@method"'), "a path of one slash")
    for variant, authority, scheme, why in (
        ("in-upper-case", "API.Example.ORG", "https", "hosts are compared in lower case"),
        ("with-its-default-port", "api.example.org:443", "https", "the default port is left out"),
        ("with-another-port", "api.example.org:8443", "https", "a port of its own stays"),
    ):
        message = get(authority=authority, scheme=scheme)
        yield holds("authority", variant, sign(message, '"@authority" "@path"'), why)
    plain = get(authority="api.example.org:80", scheme="http")
    yield holds("scheme", "http", sign(plain, '"@scheme" "@authority"'), "port 80 is the default of http")
    yield holds("scheme", "in-upper-case", sign(get(scheme="HTTPS"), '"@scheme" "@path"'), "schemes in lower case")
    yield holds("scheme", "left-out", sign(get(), '"@scheme" "@method"'), "without the member it is https")
    yield holds("request-target", "with-query", sign(get(), '"@request-target"'), "path and query as sent")
    yield holds(
        "request-target", "without-query", sign(get(path="/a/b"), '"@request-target" "@method"'), "a path alone"
    )
    yield holds("path", "empty", sign(get(path=""), '"@path" "@method"'), "an empty path is one slash")
    encoded_path = get(path="/caf%C3%A9/%7Euser/a%2Fb")
    yield holds("path", "percent-encoded", sign(encoded_path, '"@path" "@method"'), "nothing is decoded")
    dotted_path = get(path="/a/./b/../c;v=1//d")
    yield holds("path", "with-dot-segments", sign(dotted_path, '"@path" "@method"'), "dot segments stay as they are")


def _queries() -> Iterator[Draft]:
    yield holds("query", "present", sign(get(), '"@query" "@path"'), "the query with its question mark")
    yield holds("query", "absent", sign(get(path="/orders"), '"@query" "@path"'), "without a query it is ? alone")
    repeated_names = get(path="/s?b=%20x&a=1&&c+d=%c3%a9")
    yield holds("query", "untouched", sign(repeated_names, '"@query" "@method"'), "no order, no escape is changed")
    apart = get(path="/orders", query="page=2&size=10")
    yield holds(
        "query-member",
        "apart-from-the-path",
        sign(apart, '"@query" "@path" "@target-uri"'),
        "the query may come in a member of its own",
        pins=("profile 6.2 query",),
    )
    for variant, path, components, why in (
        ("plain", "/s?param=value&foo=bar&baz=batman", '"@query-param";name="baz"', "RFC 9421 2.2.8"),
        ("empty", "/s?qux=&z=1", '"@query-param";name="qux" "@query-param";name="z"', "an empty value is a value"),
        (
            "re-encoded",
            "/s?var=this%20is%20a%20big%0Amultiline%20value&bar=with+plus+whitespace",
            '"@query-param";name="var" "@query-param";name="bar"',
            "values are decoded and encoded again, a space as %20",
        ),
    ):
        yield holds("query-param", variant, sign(get(path=path), components), why)
    named_parameter = get(path="/s?fa%C3%A7ade%22%3A%20=something&x=1")
    covered_names = '"@query-param";name="fa%C3%A7ade%22%3A%20"'
    yield holds(
        "query-param-name", "encoded", sign(named_parameter, covered_names), "the name is given in its encoded form"
    )
    odd = get(path="/s?t=~%7e*-._&u=%E2%82%AC")
    covered_names = '"@query-param";name="t" "@query-param";name="u"'
    yield holds("query-param-name", "odd-letters", sign(odd, covered_names), "the tilde is encoded, the others stay")


def _fields() -> Iterator[Draft]:
    twice = with_headers(get(), accept=["application/json", "*/*"])
    yield holds("field", "on-two-lines", sign(twice, '"accept" "@method"'), "lines are joined by comma and space")
    spaced_value = with_headers(get(), x_note="  \t padded\t ")
    yield holds("field", "padded", sign(spaced_value, '"x-note" "@method"'), "space at both ends is cut")
    empty = with_headers(get(), x_empty="")
    yield holds("field", "empty", sign(empty, '"x-empty" "@method"'), "a field may be empty")
    folded_value = with_headers(get(), x_folded="Obsolete\r\n    line folding.")
    yield holds(
        "field-text",
        "folded",
        sign(folded_value, '"x-folded" "@method"'),
        "a line fold is one space",
        pins=("P-AG-02",),
    )
    inner = with_headers(get(), x_note='a,  b;c="d\\"e"\tf')
    yield holds("field-text", "with-inner-space", sign(inner, '"x-note" "@method"'), "inner space stays")
    odd = {**get(), "headers": {"aCCept": "text/plain", "X-ODD_name.1": "!#$%&'*+-.^_`|~"}}
    yield holds("field-text", "names-in-any-case", sign(odd, '"accept" "x-odd_name.1"'), "names know no case")
    commas = with_headers(get(), example_header=["value, with, lots", "of, commas"])
    yield holds("bs", "two-lines", sign(commas, '"example-header";bs "@method"'), "RFC 9421 2.1.3: lines stay apart")
    list_value = with_headers(get(), example_header="value, with, lots, of, commas")
    yield holds(
        "bs", "one-line", sign(list_value, '"example-header";bs "@method"'), "RFC 9421 2.1.3: one line, one item"
    )
    blank = with_headers(get(), example_header=["", " x "])
    yield holds("bs", "empty-line", sign(blank, '"example-header";bs "@path"'), "an empty line is an empty item")


def _structured_drafts() -> Iterator[Draft]:
    digests = digest_value(BODY) + ",   " + digest_value(BODY, "sha-512")
    message = with_headers(post(), content_digest=digests)
    yield holds("sf", "dictionary", sign(message, '"content-digest";sf "@method"'), "written again strictly")
    priority = with_headers(get(), priority="u=1,  i")
    yield holds(
        "sf",
        "of-another-standard",
        sign(priority, '"priority";sf "@method"'),
        "RFC 9218's dictionary",
        pins=("P-AG-02 known structured fields",),
    )
    components = '"content-digest";sf=?1 "@method"'
    yield holds("sf", "flag-spelt-out", sign(message, components), "sf=?1 and sf are the same, and written as sf")
    digest = sign(message, '"content-digest";key="sha-256" "content-digest";key="sha-512" "@method"')
    yield holds(
        "key",
        "every-digest",
        digest,
        "members of one dictionary on lines of their own",
        pins=("content-digest covered by its members",),
    )
    example = with_headers(get(), example_dict="a=1,    b=2;x=1;y=2,   c=(a   b   c), d")
    members = " ".join(f'"example-dict";key="{key}"' for key in "adbc")
    yield holds("key", "rfc-example", sign(example, members), "RFC 9421 2.1.2", pins=("P-AG-02 key on any dictionary",))
    client = sign(post(), '"@method" "@path" "content-digest"', label="client")
    relayed_message = with_headers(client, forwarded="for=192.0.2.123")
    proxy = sign(
        relayed_message,
        '"signature";key="client" "forwarded" "content-digest"',
        f';created={CREATED};keyid="bob"',
        by=BOB,
        label="proxy",
    )
    yield holds(
        "key",
        "a-signature-over-a-signature",
        proxy,
        "RFC 9421 4.3: a proxy covers the client's signature",
        key=BOB.hex,
        policy={"label": "proxy"},
        pins=("profile 6.2 label",),
    )


def _parameters() -> Iterator[Draft]:
    components = '"@method" "@path"'
    for variant, parameters, why in (
        ("created-alone", f";created={CREATED}", "every other parameter is optional"),
        ("none", "", "RFC 9421 demands no parameter"),
        ("keyid-alone", ';keyid="alice"', "created is recommended, not required"),
    ):
        pins = ("RFC 9421 3.2.1: others may ask for more",)
        yield holds("parameters", variant, sign(get(), components, parameters), why, pins=pins)
    for variant, more, why in (
        ("expires-far-away", ";expires=9999999999", "a signature that has not expired"),
        ("nonce", ';nonce="b3k2pp5k7z-50gnwp.yemd"', "a nonce is signed along"),
        ("tag", ';tag="shop-api"', "a tag nobody asked for"),
    ):
        yield holds("parameter", variant, sign(get(), components, PARAMETERS + more), why)
    all_named = sign(get(), components, f';created={CREATED};keyid="alice";alg="ed25519"')
    yield holds("parameter-alg", "ed25519", all_named, "alg may be stated when it is the key's")
    other_order = sign(get(), components, f';tag="t";keyid="alice";alg="ed25519";nonce="n";created={CREATED}')
    yield holds("parameter-order", "another", other_order, "parameters are signed in the order they come")
    further = sign(get(), components, f"{PARAMETERS};x-app=token;x-flag;x-n=1.5;x-b=:AQ==:")
    yield holds(
        "parameter-order", "with-unregistered-ones", further, "unknown ones are signed along", pins=("P-AG-03",)
    )
    stranger = sign(get(), components, f';created={CREATED};keyid="did:web:somebody.example"')
    yield holds("keyid", "of-somebody-else", stranger, "the caller's key decides, whoever keyid names")
    yield holds(
        "keyid",
        "did-key-of-another",
        sign(get(), components, f';created={CREATED};keyid="{BOB.did["did_key"]}"'),
        "keyid never chooses",
    )
    escaped_value = sign(get(), components, rf';created={CREATED};keyid="quote\" and \\ backslash"')
    yield holds("keyid", "with-escapes", escaped_value, "Strings have two escapes")


def _policies() -> Iterator[Draft]:
    components = '"@method" "@path"'
    tagged_message = sign(get(), components, PARAMETERS + ';tag="shop-api"')
    yield holds(
        "policy",
        "tag",
        tagged_message,
        "the tag that was asked for",
        policy={"expected_tag": "shop-api"},
        pins=("profile 6.2",),
    )
    yield holds(
        "policy",
        "required-components",
        tagged_message,
        "what had to be covered is",
        policy={"required_components": ["@path", '"@method"']},
        pins=("profile 6.2",),
    )
    aged = {"max_age_seconds": 300, "now": CREATED + 299}
    yield holds("policy", "age", tagged_message, "young enough", policy=aged, pins=("profile 6.2",))
    for variant, parameters, now in (
        ("created-a-little-ahead", f";created={CREATED}", CREATED - 59),
        ("expired-a-little", f";created={CREATED};expires={CREATED + 9}", CREATED + 68),
    ):
        message = sign(get(), components, parameters)
        yield holds("skew", variant, message, "within 60 s of skew", policy={"now": now}, pins=("P-AG-05",))


def _signatures() -> Iterator[Draft]:
    components = '"@method" "@path"'
    message = sign(get(), components)
    yield holds("key-form", "did-key", message, "the same key as did:key", "AGENT-EXPLAIN-09", key=ALICE.did)
    yield holds("key-form", "hex", message, "the same key in hex", "AGENT-EXPLAIN-08")
    upper = {**ALICE.hex, "public_key_hex": ALICE.hex["public_key_hex"].upper()}
    yield holds("key-form", "hex-in-upper-case", message, "hex knows no case", key=upper, pins=("profile 6.2",))
    loose = dict(message["headers"])
    loose["Signature-Input"] = f'sig1=(  "@method"   "@path"  );   created={CREATED}; keyid="alice"'
    yield holds(
        "spelling", "spaces", {**message, "headers": loose}, "spacing is not signed: parameters are written anew"
    )
    loose = {**loose, "Signature-Input": f'sig1=("@method" "@path");created=0{CREATED};keyid="alice"'}
    yield holds("spelling", "leading-zero", {**message, "headers": loose}, "an integer has one serialisation")
    renamed_headers = {name: value.replace("sig1=", "*x.y-z_0=") for name, value in message["headers"].items()}
    yield holds(
        "spelling", "label", {**message, "headers": renamed_headers}, "labels are not signed, and any key will do"
    )
    inner = message["headers"]["Signature"].removeprefix("sig1=:").removesuffix(":")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    spare = inner[:-3] + letters[letters.index(inner[-3]) ^ 1] + "=="
    for variant, text in (("no-padding", inner.rstrip("=")), ("spare-bits", spare)):
        changed_message = with_headers(message, signature=f"sig1=:{text}:")
        why = "parsers should not fail on this (RFC 8941 4.2.7)"
        yield holds("base64", variant, changed_message, why, pins=("RFC 8941 4.2.7 is a SHOULD",))


def _several_signatures() -> Iterator[Draft]:
    doubly_signed = sign(sign(get(), '"@method" "@path"'), '"@authority"', by=BOB, label="sig2")
    for label, key in (("sig1", ALICE.hex), ("sig2", BOB.hex)):
        yield holds(
            "several",
            label,
            doubly_signed,
            "each of several signatures can be judged by its label",
            key=key,
            policy={"label": label},
            pins=("profile 6.2 label",),
        )
    joined_message = {
        **doubly_signed,
        "headers": {n: ", ".join(v) if isinstance(v, list) else v for n, v in doubly_signed["headers"].items()},
    }
    yield holds(
        "several",
        "on-one-line",
        joined_message,
        "dictionary members may share a line",
        policy={"label": "sig1"},
        pins=("profile 6.2 label",),
    )


def _compatibility() -> Iterator[Draft]:
    compatible = sign(get(), '"@method" "created"')
    yield holds(
        "compatibility",
        "created-as-a-component",
        compatible,
        "what older signers do; RFC 9421 knows no such component",
        pins=("P-AG-07",),
    )
    both_times = sign(get(), '"@method" "created" "expires"', f";created={CREATED};expires=9999999999")
    yield holds("compatibility", "expires-as-a-component", both_times, "as above", pins=("P-AG-07",))
    field = sign(with_headers(get(), created="yesterday"), '"@method" "created"')
    yield holds("compatibility", "a-field-named-created", field, "a field of that name is what is covered")


def _statuses() -> Iterator[Draft]:
    response = with_headers({**get(), "status": 200}, content_type="text/plain")
    yield holds("status", "200", sign(response, '"@status" "content-type"'), "a response's status")
    yield holds("status", "503", sign({**response, "status": 503}, '"@status"'), "three digits, no phrase")


def _digests() -> Iterator[Draft]:
    cover = '"@method" "content-digest"'
    long = sign(with_headers(post(), content_digest=digest_value(BODY, "sha-512")), cover)
    yield holds("digest", "sha-512", long, "the other algorithm of RFC 9530", "AGENT-EXPLAIN-06")
    both_digests = f"{digest_value(BODY)}, {digest_value(BODY, 'sha-512')}"
    yield holds(
        "digest", "both", sign(with_headers(post(), content_digest=both_digests), cover), "every known one matches"
    )
    unknown = f"unixsum=:AAA=:, {digest_value(BODY)}"
    message = sign(with_headers(post(), content_digest=unknown), cover)
    yield holds("digest", "beside-an-unknown-one", message, "what is unknown is skipped", pins=("P-AG-06",))
    empty = sign(with_headers(get(), content_digest=_EMPTY_DIGEST), '"@path" "content-digest"')
    yield holds("digest-of", "nothing", empty, "the digest of no content is a digest")
    binary = hashlib.sha512(b"any bytes").digest() + bytes(range(256))
    yield holds("digest-of", "binary", sign(post(binary), cover), "content is bytes, not text")
    lines = with_headers(post(), content_digest=[digest_value(BODY, "sha-512"), digest_value(BODY)])
    yield holds("digest-of", "two-lines", sign(lines, cover), "one dictionary over two lines")
    bare = sign(with_headers(post(), "content-digest"), '"@method" "@path"')
    loose = {"require_content_digest": False}
    yield holds("digest-policy", "not-required", bare, "content without a digest", policy=loose, pins=("profile 6.2",))
    without_cover = sign(post(), '"@method" "@path"')
    yield holds(
        "digest-policy",
        "present-not-covered",
        without_cover,
        "compared all the same",
        policy=loose,
        pins=("profile 6.2",),
    )
    nothing = {**sign(get(), '"@method" "@path"'), "body_b64": base64.b64encode(b"").decode()}
    yield holds("digest-policy", "no-content", nothing, "no content needs no digest")


def _unsigned_changes() -> Iterator[Draft]:
    row = "AGENT-VERIFY-09"
    message = sign(get(), '"@method" "@authority" "@path"')
    with_more_headers = with_headers(message, x_request_id="abc", via="1.1 proxy")
    yield holds("unsigned", "headers-added", with_more_headers, "what is not covered may change", row)
    changed_message = with_headers(message, "date", accept="*/*")
    yield holds("unsigned", "headers-changed", changed_message, "what is not covered may change", row)
    other_message = {**message, "path": "/orders/7?page=9"}
    yield holds("unsigned", "query-changed", other_message, "the query is not covered here", row)
    loose = {"require_content_digest": False}
    body = with_body(message, b"any")
    yield holds(
        "unsigned-content",
        "added",
        body,
        "a signature alone says nothing of the content",
        policy=loose,
        pins=("profile 6.2",),
    )
