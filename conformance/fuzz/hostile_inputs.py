"""Hostile inputs that no sane client sends: bodies, header fields, request lines and tokens, each with a name.

All inputs are fixed, so that each run sends the same ones. JSON is stored as text, because Python has no value for
some of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

JSON = ("content-type", "application/json")
_LONG = "a" * 5000
# Deeper than the recursion limit of common parsers. The third is a little more than 64 KiB, a usual
# limit of bodies.
_DEEP = 15_000
_OVERSIZED_BYTES = 70_000

# JSON texts by their names. Each replaces a value of another type or range.
FRAGMENTS: Mapping[str, str] = {
    "null": "null",
    "true": "true",
    "zero": "0",
    "minus one": "-1",
    "half": "0.5",
    "minus zero": "-0",
    "a tiny number": "1e-400",
    "1e999": "1e999",
    "NaN": "NaN",
    "Infinity": "Infinity",
    "2^53 + 1": "9007199254740993",
    "2^63": "9223372036854775808",
    "a number of 4,500 digits": "9" * 4500,
    "an exponent without end": "1e" + "9" * 400,
    "an empty text": '""',
    "white space": '" \\t"',
    "a text": '"hostile"',
    "a digit as text": '"1"',
    "NUL": '"\\u0000"',
    "a line end": '"a\\r\\nX-Injected: 1"',
    "half a surrogate pair": '"\\ud800"',
    "the other half": '"\\udfff"',
    "beyond the basic plane": '"\\ud83d\\ude00"',
    "a mark that turns the text": '"\\u202e\\u2066abc"',
    "letters outside ASCII": '"' + "é" * 300 + '"',
    "5,000 letters": f'"{_LONG}"',
    "SQL": '"\' OR 1=1; --"',
    "a path": '"../../../../etc/passwd"',
    "a template": '"{{7*7}}${jndi:ldap://127.0.0.1/a}%s%n"',
    "markup": '"<script>alert(1)</script>"',
    "an address": '"http://127.0.0.1:1/"',
    "an empty array": "[]",
    "an array of null": "[null]",
    "an array of an empty text": '[""]',
    "an array of letters outside ASCII": '["é"]',
    "1,000 members": "[" + ",".join("0" for _ in range(1000)) + "]",
    "nested 40 deep": "[" * 40 + "]" * 40,
    "an empty object": "{}",
    "an operator": '{"$gt":""}',
    "a prototype": '{"__proto__":{"x":1},"constructor":1}',
    "invalid keys of a JWKS": '{"keys":[null,1,"a",{},{"kty":1},{"kty":"OKP","crv":"Ed25519","x":"AA"}]}',
}


def whole_bodies(good: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield bodies that are not JSON, not an object, too large or too deep, each with its name."""
    text = json.dumps(dict(good)).encode()
    inner = text[1:-1]
    first = next(iter(good), "a")
    separator = b"," if inner else b""
    yield "nothing", b""
    yield "a space", b" "
    yield "NUL bytes", b"\0" * 16
    yield "bytes that are no text", bytes(range(128, 256))
    yield "half an object", text[: len(text) // 2 + 1]
    yield "an object without its end", text[:-1]
    yield "a trailing comma", b"{" + inner + b",}"
    yield "two objects", text + text
    yield "single quotes", text.replace(b'"', b"'") if inner else b"{'a':1}"
    yield "a comment", text + b" // hostile"
    yield "a byte order mark", b"\xef\xbb\xbf" + text
    yield "UTF-16", text.decode().encode("utf-16")
    yield "UTF-32", text.decode().encode("utf-32")
    yield "broken UTF-8", b"{" + inner + separator + b'"x":"\xc3\x28\xff"}'
    yield "an overlong slash", b"{" + inner + separator + b'"x":"\xc0\xaf"}'
    yield "a surrogate in UTF-8", b"{" + inner + separator + b'"x":"\xed\xa0\x80"}'
    yield "a raw line feed in a text", b"{" + inner + separator + b'"x":"a\nb"}'
    yield "NUL in a name", b"{" + inner + separator + b'"\\u0000":1}'
    yield "an empty name", b"{" + inner + separator + b'"":1}'
    yield "half a surrogate pair as a name", b"{" + inner + separator + b'"\\ud800":1}'
    yield "a member twice", b"{" + inner + separator + json.dumps(first).encode() + b":1}"
    yield "NaN in an unknown member", b"{" + inner + separator + b'"x":NaN}'
    yield "-Infinity in an unknown member", b"{" + inner + separator + b'"x":-Infinity}'
    yield "1e999 in an unknown member", b"{" + inner + separator + b'"x":1e999}'
    yield "4,500 digits in an unknown member", b"{" + inner + separator + b'"x":' + b"9" * 4500 + b"}"
    yield "33 deep in an unknown member", b"{" + inner + separator + b'"x":' + b"[" * 33 + b"]" * 33 + b"}"
    yield "arrays without end", b"[" * _DEEP
    yield "arrays, closed", b"[" * _DEEP + b"]" * _DEEP
    yield "objects without end", b'{"a":' * _DEEP
    yield "objects, closed", b'{"a":' * 9000 + b"1" + b"}" * 9000
    yield "3,000 members", ("{" + ",".join(f'"m{n}":{n}' for n in range(3000)) + "}").encode()
    yield "one byte over 64 KiB", b"{" + inner + separator + b'"x":"' + b"a" * (65_537 - len(inner) - 12) + b'"}'
    yield "a little oversized", b"{" + inner + separator + b'"x":"' + b"a" * _OVERSIZED_BYTES + b'"}'
    yield "oversized white space", b" " * _OVERSIZED_BYTES + text
    yield "oversized nonsense", b"\xff" * _OVERSIZED_BYTES
    yield "a form", b"a=1&b=%00&c=%ff"
    yield "compressed", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"
    for name, fragment in FRAGMENTS.items():
        yield f"the whole body: {name}", fragment.encode()


def wrong_members(good: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield the valid body with one member left out, and with it replaced by each fragment."""
    texts = {name: json.dumps(value) for name, value in good.items()}
    for name in good:
        yield f"without {name}", _object({**{n: t for n, t in texts.items() if n != name}})
        for description, fragment in FRAGMENTS.items():
            yield f"{name}: {description}", _object({**texts, name: fragment})


def _object(texts: Mapping[str, str]) -> bytes:
    return ("{" + ",".join(f"{json.dumps(name)}:{text}" for name, text in texts.items()) + "}").encode()


# Methods in lower case, unknown ones, and ones that frameworks treat specially.
METHODS = (
    "get",
    "BREW",
    "PROPFIND",
    "TRACE",
    "CONNECT",
    "QUERY",
    "PATCH",
    "PUT",
    "DELETE",
    "OPTIONS",
    "HEAD",
    "A" * 300,
)

# Header fields by their names. Fields that no client library would send need a raw connection.
FIELDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "no media type": (("Content-Type", ""),),
    "a media type without a subtype": (("Content-Type", "application"),),
    "an unknown charset": (("Content-Type", "application/json; charset=nonsense"),),
    "UTF-7": (("Content-Type", "application/json; charset=utf-7"),),
    "an open quote": (("Content-Type", 'application/json; charset="utf-8'),),
    "only semicolons": (("Content-Type", "application/json;;;;"),),
    "two media types": (("Content-Type", "application/json, text/plain"),),
    "two fields of media types": (("Content-Type", "application/json"), ("Content-Type", "text/plain")),
    "multipart without a boundary": (("Content-Type", "multipart/form-data"),),
    "a form": (("Content-Type", "application/x-www-form-urlencoded"),),
    "letters outside ASCII in the media type": (("Content-Type", "application/jsön"),),
    "a body that is not compressed as stated": (JSON, ("Content-Encoding", "gzip")),
    "an unknown encoding": (JSON, ("Content-Encoding", "identity, nonsense")),
    "Accept of nonsense": (JSON, ("Accept", ";q=x,*/*;q=2,text")),
    "Range": (JSON, ("Range", "bytes=9-1,-,0-")),
    "conditions of nonsense": (JSON, ("If-None-Match", '"'), ("If-Modified-Since", "yesterday"), ("If-Match", "W/")),
    "Expect of nonsense": (JSON, ("Expect", "nonsense")),
    "an upgrade": (JSON, ("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"), ("HTTP2-Settings", "AAAA")),
    "a web socket": (JSON, ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Key", "x")),
    "a web socket's whole handshake": (
        *(("Connection", "Upgrade"), ("Upgrade", "websocket")),
        *(("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), ("Sec-WebSocket-Version", "13")),
    ),
    "broken cookies": (JSON, ("Cookie", '=;;a="b;\x7f; $Version=1')),
    "a forwarded address of nonsense": (JSON, ("X-Forwarded-For", "999.1.1.1, ::ffff:, '"), ("Forwarded", "for=;=")),
    "X-Forwarded-Host": (JSON, ("X-Forwarded-Host", "evil.invalid:99999"), ("X-Forwarded-Proto", "javascript")),
    "an override of the method": (JSON, ("X-HTTP-Method-Override", "DELETE")),
    "Bearer without a key": (JSON, ("Authorization", "Bearer")),
    "Bearer with spaces": (JSON, ("Authorization", "Bearer  a b  c")),
    "Basic that is no base64": (JSON, ("Authorization", "Basic %%%")),
    "a long credential": (JSON, ("Authorization", "Bearer " + _LONG)),
    "two credentials": (JSON, ("Authorization", "Bearer a"), ("Authorization", "Bearer b")),
    "a credential outside ASCII": (JSON, ("Authorization", "Bearer \udcff\udcfe")),
    "an invalid tenant": (
        JSON,
        ("X-Tenant-Id", "../../x"),
    ),
    "a tenant in braces": (JSON, ("X-Tenant-Id", "{00000000-0000-0000-0000-000000000000}")),
    "a tenant outside ASCII": (JSON, ("X-Tenant-Id", "\udcff" * 16)),
    "a long tenant": (JSON, ("X-Tenant-Id", _LONG)),
    "an empty Idempotency-Key": (JSON, ("Idempotency-Key", "")),
    "an Idempotency-Key of 256 characters": (JSON, ("Idempotency-Key", "k" * 256)),
    "an Idempotency-Key outside ASCII": (JSON, ("Idempotency-Key", "\udcc3\udca9")),
    "two Idempotency-Keys": (JSON, ("Idempotency-Key", "a"), ("Idempotency-Key", "b")),
    "X-PAYMENT of nonsense": (JSON, ("X-PAYMENT", "\udcff\udcfe=")),
    "a request id of the caller's": (JSON, ("X-Request-Id", "a\tb" + _LONG)),
    "an A2A extension of nonsense": (JSON, ("X-A2A-Extensions", ",,\udcff")),
    "200 fields": (JSON, *((f"X-Field-{n}", "v") for n in range(200))),
    "a field of 20,000 characters": (JSON, ("X-Long", "v" * 20_000)),
    "header fields of 60,000 characters": (JSON, *((f"X-Long-{n}", "v" * 6000) for n in range(10))),
    "a name outside ASCII": (JSON, ("X-\udcc3\udca9", "v")),
    "a name with a space": (JSON, ("X Field", "v")),
    "an empty name": (JSON, ("", "v")),
    "a host with an empty label": (JSON, ("Host", "a..example")),
    "a host with a label of 64 letters": (JSON, ("Host", f"{'a' * 64}.example")),
    "NUL in a value": (JSON, ("X-Field", "a\0b")),
    "a bare line feed in a value": (JSON, ("X-Field", "a\nX-Injected: 1")),
    "a folded value": (JSON, ("X-Field", "a\r\n b")),
    "two hosts": (JSON, ("Host", "a"), ("Host", "b")),
    "a host of nonsense": (JSON, ("Host", "[::1%25\udcff]:99999/x?")),
    "an empty host": (JSON, ("Host", "")),
    "Content-Length of nonsense": (JSON, ("Content-Length", "abc")),
    "a negative Content-Length": (JSON, ("Content-Length", "-1")),
    "a Content-Length with an exponent": (JSON, ("Content-Length", "1e3")),
    "a Content-Length of 30 digits": (JSON, ("Content-Length", "9" * 30)),
    "a Content-Length that is too small": (JSON, ("Content-Length", "1")),
    "a Content-Length that is too large": (JSON, ("Content-Length", "5000")),
    "two Content-Lengths": (JSON, ("Content-Length", "2"), ("Content-Length", "3")),
    "Content-Length and chunks": (JSON, ("Content-Length", "2"), ("Transfer-Encoding", "chunked")),
    "chunks without a size": (JSON, ("Transfer-Encoding", "chunked")),
    "an unknown transfer encoding": (JSON, ("Transfer-Encoding", "gzip, chunked")),
    "a transfer encoding of nonsense": (JSON, ("Transfer-Encoding", "nonsense")),
}

# Bodies of `Transfer-Encoding: chunked`, by their names. The valid content is `{}`.
CHUNKS: Mapping[str, bytes] = {
    "one whole chunk": b"2\r\n{}\r\n0\r\n\r\n",
    "a byte a chunk": b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
    "no end": b"2\r\n{}\r\n",
    "a size that is no number": b"zz\r\n{}\r\n0\r\n\r\n",
    "a negative size": b"-2\r\n{}\r\n0\r\n\r\n",
    "a size of 40 digits": b"f" * 40 + b"\r\n{}\r\n0\r\n\r\n",
    "a size that is too large": b"ff\r\n{}\r\n0\r\n\r\n",
    "a size that is too small": b"1\r\n{}\r\n0\r\n\r\n",
    "an extension": b"2;x=" + b"y" * 5000 + b"\r\n{}\r\n0\r\n\r\n",
    "a trailer": b"2\r\n{}\r\n0\r\nX-Trailer: a\r\nContent-Length: 5\r\n\r\n",
    "over the limit, piece by piece": b"".join(b"1000\r\n" + b"a" * 4096 + b"\r\n" for _ in range(18)) + b"0\r\n\r\n",
}

# Targets of a request line; `{path}` is the operation's.
TARGETS: Mapping[str, str] = {
    "a slash at the end": "{path}/",
    "two slashes": "/{path}",
    "a dot segment": "/./x/..{path}",
    "dot segments upwards": "/../../../../etc/passwd",
    "encoded dot segments": "/%2e%2e/%2e%2e%2f%2e%2e/etc/passwd",
    "a semicolon": "{path};a=b",
    "an encoded slash": "{path}%2f",
    "an encoded NUL": "{path}%00",
    "an encoded line end": "{path}%0d%0aX-Injected:%201",
    "a percent sign alone": "{path}%",
    "half an escape": "{path}%4",
    "an invalid escape": "{path}%zz",
    "bytes that are no UTF-8": "{path}%ff%fe",
    "an overlong slash": "/%c0%af{path}",
    "half a surrogate pair": "{path}%ed%a0%80",
    "raw bytes": "{path}\udcff\udcc3",
    "raw UTF-8": "{path}é",
    "raw spaces": "{path} x",
    "a backslash": "\\\\host{path}",
    "a fragment": "{path}#x",
    "markup": "{path}<script>",
    "an empty query": "{path}?",
    "a query of nonsense": "{path}?&&=&%zz=%ff&a[]=1&a[b]=2",
    "a query of 4,000 members": "{path}?" + "a=1&" * 1500,
    "a query with NUL": "{path}?a=%00&limit=%00&offset=-1",
    "odd numbers": "{path}?limit=1e9&offset=99999999999999999999999999&type=%F0%9F",
    "a long path": "/" + "a" * 7000,
    "a line of 9,000 characters": "/" + "a" * 9000,
    "a line of 70,000 characters": "/" + "a" * 70_000,
    "many segments": "/a" * 3000,
    "another host": "http://127.0.0.1:1{path}",
    "a star": "*",
    "nothing": "",
    "HTTP/9.9": "{path} HTTP/9.9",
    "HTTP/1.0": "{path} HTTP/1.0",
    "HTTP/2.0": "{path} HTTP/2.0",
}

# Checkout tokens of every shape, as written in the path.
TOKENS: Mapping[str, str] = {
    "one letter": "a",
    "21 letters": "A" * 21,
    "22 letters": "A" * 22,
    "23 letters": "A" * 23,
    "22 letters that no 16 bytes give": "A" * 21 + "B",
    "200 letters": "A" * 200,
    "3,000 letters": "A" * 3000,
    "dashes": "-" * 22,
    "padding": "A" * 22 + "==",
    "a plus and a slash": "A" * 20 + "+%2F",
    "a dot": ".",
    "two dots": "..",
    "two encoded dots": "%2e%2e",
    "encoded dots and slashes": "%2e%2e%2f%2e%2e%2fhealth",
    "an encoded slash": "AAAA%2Fstatus",
    "NUL": "%00" * 22,
    "a line end": "A%0d%0aB",
    "spaces": "%20" * 22,
    "bytes that are no UTF-8": "%ff" * 22,
    "half a surrogate pair": "%ed%a0%80",
    "letters outside ASCII": "%c3%a9" * 11,
    "digits of another script": "%d9%a1" * 11,
    "a face": "%f0%9f%98%80",
    "SQL": "%27%20OR%20%271%27=%271",
    "a wildcard": "%25",
    "an underscore": "_" * 22,
    "markup": "%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    "a template": "%7B%7Btoken%7D%7D",
    "zero": "0",
    "minus one": "-1",
    "a UUID": "00000000-0000-0000-0000-000000000000",
    "null": "null",
    "a query": "%3Ftoken=A",
    "a fragment": "%23A",
}
CHECKOUT_CALLS = (("GET", ""), ("GET", "/status"), ("GET", "/qr"), ("GET", "/qr?data=%00%ff"), ("GET", "/events"))
CHECKOUT_DEEDS = ("/verify", "/cancel", "/abandon")
