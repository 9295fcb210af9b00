"""The RFC's own examples: appendix B of RFC 9421, and those of its text that can be verified.

An agent judges with Ed25519 keys only. An example in another algorithm therefore occurs twice: under the RFC's key for
a verifier that knows all algorithms, where it holds, and under the Ed25519 key of B.1.4, where it must not.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, Final

from conformance.oracles.message_signatures.algorithms import ECDSA_P256, ED25519, HMAC_SHA256, RSA_PSS, RSA_V1_5
from conformance.oracles.message_signatures.faults import Code
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.message_signatures import rfc_keys
from tools.vectors_builder.message_signatures.drafting import (
    EVERYWHERE,
    OFFLINE,
    Members,
    draft_message,
    with_headers,
    with_signature,
)

_ED25519: Final = {"algorithm": ED25519, "public_key_hex": rfc_keys.ED25519_PUBLIC_HEX}
_PSS: Final = {"algorithm": RSA_PSS, "public_key_pem": rfc_keys.RSA_PSS_PUBLIC}
_V1_5: Final = {"algorithm": RSA_V1_5, "public_key_pem": rfc_keys.RSA_PUBLIC}
_P256: Final = {"algorithm": ECDSA_P256, "public_key_pem": rfc_keys.P256_PUBLIC}
_SECRET: Final = {"algorithm": HMAC_SHA256, "secret_b64": rfc_keys.SHARED_SECRET}
_WITHOUT_DIGEST: Final = {"require_content_digest": False}

REQUEST: Final[Members] = {
    "method": "POST",
    "authority": "example.com",
    "path": "/foo?param=Value&Pet=dog",
    "headers": {
        "Host": "example.com",
        "Date": "Tue, 20 Apr 2021 02:07:55 GMT",
        "Content-Type": "application/json",
        "Content-Digest": "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHW"
        "XvJwew==:",
        "Content-Length": "18",
    },
    "body_b64": base64.b64encode(b'{"hello": "world"}').decode(),
}
RESPONSE: Final[Members] = {
    **REQUEST,
    "status": 200,
    "headers": {
        "Date": "Tue, 20 Apr 2021 02:07:56 GMT",
        "Content-Type": "application/json",
        "Content-Digest": "sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5"
        "aGgfLQ==:",
        "Content-Length": "23",
    },
    "body_b64": base64.b64encode(b'{"message": "good dog"}').decode(),
}
_CLIENT_CERT: Final = (
    ":MIIBqDCCAU6gAwIBAgIBBzAKBggqhkjOPQQDAjA6MRswGQYDVQQKDBJMZXQncyBBdXRoZW50aWNhdGUxGzAZBgNVBAMMEkxBIEludGVybWVkaWF0"
    "ZSBDQTAeFw0yMDAxMTQyMjU1MzNaFw0yMTAxMjMyMjU1MzNaMA0xCzAJBgNVBAMMAkJDMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8YnXXfaU"
    "gmnMtOXU/IncWalRhebrXmckC8vdgJ1p5Be5F/3YC8OthxM4+k1M6aEAEFcGzkJiNy6J84y7uzo9M6NyMHAwCQYDVR0TBAIwADAfBgNVHSMEGDAW"
    "gBRm3WjLa38lbEYCuiCPct0ZaSED2DAOBgNVHQ8BAf8EBAMCBsAwEwYDVR0lBAwwCgYIKwYBBQUHAwIwHQYDVR0RAQH/BBMwEYEPYmRjQGV4YW1w"
    "bGUuY29tMAoGCCqGSM49BAMCA0gAMEUCIBHda/r1vaL6G3VliL4/Di6YK0Q6bMjeSkC3dFCOOB8TAiEAx/kHSB4urmiZ0NX5r5XarmPk0wmuydBV"
    "oU4hBVZ1yhk=:"
)
_B21: Final = (
    'sig-b21=();created=1618884473;keyid="test-key-rsa-pss";nonce="b3k2pp5k7z-50gnwp.yemd"',
    (
        "sig-b21=:d2pmTvmbncD3xQm8E9ZV2828BjQWGgiwAaw5bAkgibUopemLJcWDy/lkbbHAve4cRAtx31Iq786U7it++wgGxbtRxf8Udx7zFZsckzXa"
        "JMkA7ChG52eSkFxykJeNqsrWH5S+oxNFlD4dzVuwe8DhTSja8xxbR/Z2cOGdCbzR72rgFWhzx2VjBqJzsPLMIQKhO4DGezXehhWwE56YCE+O6c0m"
        "KZsfxVrogUvA4HELjVKWmAvtl6UnCh8jYzuVG5WSb/QEVPnP5TmcAnLH1g+s++v6d4s8m0gCw1fV5/SITLq9mhho8K3+7EPYTU8IU1bLhdxO5Nyt"
        "8C8ssinQ98Xw9Q==:"
    ),
)
_B22: Final = (
    (
        'sig-b22=("@authority" "content-digest" "@query-param";name="Pet");created=1618884473;keyid="test-key-rsa-pss"'
        ';tag="header-example"'
    ),
    (
        "sig-b22=:LjbtqUbfmvjj5C5kr1Ugj4PmLYvx9wVjZvD9GsTT4F7GrcQEdJzgI9qHxICagShLRiLMlAJjtq6N4CDfKtjvuJyE5qH7KT8UCMkSowOB"
        "4+ECxCmT8rtAmj/0PIXxi0A0nxKyB09RNrCQibbUjsLS/2YyFYXEu4TRJQzRw1rLEuEfY17SARYhpTlaqwZVtR8NV7+4UKkjqpcAoFqWFQh62s7C"
        "l+H2fjBSpqfZUJcsIk4N6wiKYd4je2U/lankenQ99PZfB4jY3I5rSV2DSBVkSFsURIjYErOs0tFTQosMTAoxk//0RoKUqiYY8Bh0aaUEb0rQl3/X"
        "aVe4bXTugEjHSw==:"
    ),
)
_B23: Final = (
    (
        'sig-b23=("date" "@method" "@path" "@query" "@authority" "content-type" "content-digest" "content-length")'
        ';created=1618884473;keyid="test-key-rsa-pss"'
    ),
    (
        "sig-b23=:bbN8oArOxYoyylQQUU6QYwrTuaxLwjAC9fbY2F6SVWvh0yBiMIRGOnMYwZ/5MR6fb0Kh1rIRASVxFkeGt683+qRpRRU5p2voTp768ZrC"
        "Ub38K0fUxN0O0iC59DzYx8DFll5GmydPxSmme9v6ULbMFkl+V5B1TP/yPViV7KsLNmvKiLJH1pFkh/aYA2HXXZzNBXmIkoQoLd7YfW91kE9o/CCo"
        "C1xMy7JA1ipwvKvfrs65ldmlu9bpG6A9BmzhuzF8Eim5f8ui9eH8LZH896+QIF61ka39VBrohr9iyMUJpvRX2Zbhl5ZJzSRxpJyoEZAFL2FUo5fT"
        "IztsDZKEgM4cUA==:"
    ),
)
_B24: Final = (
    'sig-b24=("@status" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-ecc-p256"',
    "sig-b24=:wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw==:",
)
_B25: Final = (
    'sig-b25=("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"',
    "sig-b25=:pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=:",
)
_B26: Final = (
    (
        'sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473'
        ';keyid="test-key-ed25519"'
    ),
    "sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:",
)
_B3: Final = (
    'ttrp=("@path" "@query" "@method" "@authority" "client-cert");created=1618884473;keyid="test-key-ecc-p256"',
    "ttrp=:xVMHVpawaAC/0SbHrKRs9i8I3eOs5RtTMGCWXm/9nvZzoHsIg6Mce9315T6xoklyy0yzhD9ah4JHRwMLOgmizw==:",
)
_B4: Final = (
    'transform=("@method" "@path" "@authority" "accept");created=1618884473;keyid="test-key-ed25519"',
    "transform=:ZT1kooQsEHpZ0I1IjCqtQppOmIqlJPeo7DHR3SoMn0s5JZ1eRGS0A+vyYP9t/LXlh5QMFFQ6cpLt2m0pmj3NDA==:",
)
_SECTION_2_4: Final = (
    (
        'reqres=("@status" "content-digest" "content-type" "@authority";req "@method";req "@path";req '
        '"content-digest";req)'
        ';created=1618884479;keyid="test-key-ecc-p256"'
    ),
    "reqres=:dMT/A/76ehrdBTD/2Xx8QuKV6FoyzEP/I9hdzKN8LQJLNgzU4W767HK05rx1i8meNQQgQPgQp8wq2ive3tV5Ag==:",
)

_CLIENT_OF_4_3: Final = (
    (
        'sig1=("@method" "@authority" "@path" "content-digest" "content-type" "content-length");created=1618884475'
        ';keyid="test-key-ecc-p256"'
    ),
    "sig1=:X5spyd6CFnAG5QnDyHfqoSNICd+BUP4LYMz2Q0JXlb//4Ijpzp+kve2w4NIyqeAuM7jTDX+sNalzA8ESSaHD3A==:",
)
_PROXY_OF_4_3: Final = (
    (
        'proxy_sig=("@method" "@authority" "@path" "content-digest" "content-type" "content-length" "forwarded")'
        ';created=1618884480;keyid="test-key-rsa";alg="rsa-v1_5-sha256";expires=1618884540'
    ),
    (
        "proxy_sig=:S6ZzPXSdAMOPjN/6KXfXWNO/f7V6cHm7BXYUh3YD/fRad4BCaRZxP+JH+8XY1I6+8Cy+CM5g92iHgxtRPz+MjniOaYmdkDcnL9cCp"
        "XJleXsOckpURl49GwiyUpZ10KHgOEe11sx3G2gxI8S0jnxQB+Pu68U9vVcasqOWAEObtNKKZd8tSFu7LB5YAv0RAGhB8tmpv7sFnIm9y+7X5kXQ"
        "fi8NMaZaA8i2ZHwpBdg7a6CMfwnnrtflzvZdXAsD3LH2TwevU+/PBPv0B6NMNk93wUs/vfJvye+YuI87HU38lZHowtznbLVdp770I6VHR6WfgS9d"
        "dzirrswsE1w5o0LV/g==:"
    ),
)


def drafts() -> Iterator[Draft]:
    """Yield them."""
    no_digest = with_headers(REQUEST, "content-digest")
    internal = with_headers(no_digest, host="service.internal.example", client_cert=_CLIENT_CERT)
    internal = {**internal, "authority": "service.internal.example"}
    yield from _draft_both(
        "B.2.1", with_signature(REQUEST, *_B21), _PSS, allow_empty_components=True, **_WITHOUT_DIGEST
    )
    yield from _draft_both("B.2.2", with_signature(REQUEST, *_B22), _PSS)
    yield from _draft_both("B.2.3", with_signature(REQUEST, *_B23), _PSS)
    yield from _draft_both("B.2.4", with_signature(RESPONSE, *_B24), _P256)
    yield from _draft_both("B.2.5", with_signature(REQUEST, *_B25), _SECRET, **_WITHOUT_DIGEST)
    yield _example("B.2.6", "ed25519", with_signature(REQUEST, *_B26), _ED25519, policy=_WITHOUT_DIGEST)
    yield from _draft_both("B.3", with_signature(internal, *_B3), _P256, **_WITHOUT_DIGEST)
    yield from _transformations()
    yield _response_of_section_2_4()
    yield from _proxy_of_section_4_3()


def _transformations() -> Iterator[Draft]:
    accept = ["application/json", "*/*"]
    date = "Fri, 15 Jul 2022 14:24:55 GMT"
    message: Members = {
        "method": "GET",
        "authority": "example.org",
        "path": "/demo?name1=Value1&Name2=value2",
        "headers": {"Host": "example.org", "Date": date, "Accept": accept},
    }
    longer = "/demo?name1=Value1&Name2=value2&param=added"
    joined_headers = {
        "Host": "example.org",
        "Referer": "https://developer.example.org/demo",
        "Accept": ", ".join(accept),
    }
    reversed_headers = {"Accept": accept, "Date": date, "Host": "example.org"}
    with_language = with_headers({**message, "path": longer}, accept_language="en-US,en;q=0.5")
    for variant, changed_message in (
        ("as-signed", message),
        ("header-and-query-added", with_language),
        ("accept-on-one-line", {**message, "headers": joined_headers}),
        ("fields-reordered", {**message, "headers": reversed_headers}),
    ):
        yield _example("B.4", variant, with_signature(changed_message, *_B4), _ED25519)
    other_message = with_headers({**message, "method": "POST", "authority": "example.com"}, host="example.com")
    swapped_values = {**message, "headers": {**message["headers"], "Accept": accept[::-1]}}
    for variant, changed_message, fault in (
        ("method-and-authority-changed", other_message, "the method and the authority are others than were signed"),
        ("accept-lines-swapped", swapped_values, "the two Accept lines come in the other order"),
    ):
        signed_message = with_signature(changed_message, *_B4)
        yield _example("B.4", variant, signed_message, _ED25519, codes=(Code.SIGNATURE_MISMATCH,), fault=fault)


def _response_of_section_2_4() -> Draft:
    digest = "0Y6iCBzGg5rZtoXS95Ijz03mslf6KAMCloESHObfwnHJDbkkWWQz6PhhU9kxsTbARtY2PTBOzq24uJFpHsMuAg=="
    body = b'{"busy": true, "message": "Your call is very important to us"}'
    headers = {**RESPONSE["headers"], "Content-Digest": f"sha-512=:{digest}:", "Content-Length": "62"}
    message = {**RESPONSE, "status": 503, "headers": headers, "body_b64": base64.b64encode(body).decode()}
    signed_message = with_signature({**message, "related_request": REQUEST}, *_SECTION_2_4)
    return _example("2.4", "response-to-a-request", signed_message, _P256, policy=_allow(_P256), doors=OFFLINE)


def _proxy_of_section_4_3() -> Iterator[Draft]:
    client = with_signature(REQUEST, *_CLIENT_OF_4_3)
    yield _example("4.3", "client", client, _P256, policy=_allow(_P256), doors=OFFLINE)
    host, date = "origin.host.internal.example", "Tue, 20 Apr 2021 02:07:56 GMT"
    relayed_message = with_headers(
        client, host=host, date=date, forwarded="for=192.0.2.123;host=example.com;proto=https"
    )
    doubly_signed = with_signature({**relayed_message, "authority": host}, *_PROXY_OF_4_3)
    policy = _allow(_V1_5, label="proxy_sig", now=1_618_884_500)
    yield _example("4.3", "proxy", doubly_signed, _V1_5, policy=policy, doors=OFFLINE)
    fault = "the client's signature is looked at after the proxy changed the host"
    policy = _allow(_P256, label="sig1")
    codes = (Code.SIGNATURE_MISMATCH,)
    yield _example(
        "4.3", "client-behind-the-proxy", doubly_signed, _P256, policy=policy, codes=codes, fault=fault, doors=OFFLINE
    )


def _allow(key: dict[str, str], **policy: Any) -> dict[str, Any]:
    return {**policy, "allowed_algorithms": [key["algorithm"]]}


def _draft_both(section: str, message: Members, key: dict[str, str], **policy: Any) -> Iterator[Draft]:
    algorithm = key["algorithm"]
    yield _example(section, algorithm, message, key, policy=_allow(key, **policy), doors=OFFLINE)
    codes: tuple[Code, ...] = (Code.SIGNATURE_MISMATCH,)
    if "allow_empty_components" in policy:
        codes = (Code.EMPTY_COMPONENTS, *codes)
    door = {name: value for name, value in policy.items() if name != "allow_empty_components"}
    fault = f"it was signed with {algorithm}, and the Ed25519 key of B.1.4 is expected"
    yield _example(section, "expecting-ed25519", message, _ED25519, policy=door, codes=codes, fault=fault)


def _example(
    section: str,
    variant: str,
    message: Members,
    key: dict[str, str],
    *,
    policy: dict[str, Any] | None = None,
    codes: tuple[Code, ...] = (),
    fault: str | None = None,
    doors: tuple[str, ...] = EVERYWHERE,
) -> Draft:
    place = f"appendix {section}" if section.startswith("B") else f"section {section}"
    kind = f"rfc/{section.lower()}" + ("" if fault is None else "-refused")
    rows = ("AGENT-VERIFY-11", "AGENT-EXPLAIN-02") if fault is None else ("AGENT-VERIFY-11", "AGENT-VERIFY-03")
    why = "an example of the RFC, judged as the RFC states" if fault is None else "what the RFC says must not verify"
    origin = f"RFC 9421, {place}"
    return draft_message(
        kind, variant, message, why, rows, codes, fault, key=key, policy=policy, doors=doors, origin=origin
    )
