"""Appendix B of RFC 9421: every example is judged as the RFC states, and one changed thing is found."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest

from reference.protocol.message_signatures import ExpectedKey, Fields, Message, MessageVerdict, Policy, judge_message

NOW = 1618884473
SHA_512 = "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:"
REQUEST_FIELDS = {
    "Host": "example.com",
    "Date": "Tue, 20 Apr 2021 02:07:55 GMT",
    "Content-Type": "application/json",
    "Content-Digest": SHA_512,
    "Content-Length": "18",
}
RESPONSE_FIELDS = {
    "Date": "Tue, 20 Apr 2021 02:07:56 GMT",
    "Content-Type": "application/json",
    "Content-Digest": (
        "sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5aGgfLQ==:"
    ),
    "Content-Length": "23",
}
PSS_KEY = (
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAr4tmm3r20Wd/PbqvP1s2+QEtvpuRaV8Yq40gjUR8y2Rjxa6dpG2GXHbP"
    "fvMs8ct+Lh1GH45x28Rw3Ry53mm+oAXjyQ86OnDkZ5N8lYbggD4O3w6M6pAvLkhk95AndTrifbIFPNU8PPMO7OyrFAHqgDsznjPF"
    "mTOtCEcN2Z1FpWgchwuYLPL+Wokqltd11nqqzi+bJ9cvSKADYdUAAN5WUtzdpiy6LbTgSxP7ociU4Tn0g5I6aDZJ7A8Lzo0KSyZY"
    "oA485mqcO0GVAdVw9lq4aOT9v6d+nb4bnNkQVklLQ3fVAvJm+xdDOp9LCNCN48V2pnDOkFV6+U9nV5oyc6XI2wIDAQAB"
)
P256_KEY = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEqIVYZVLCrPZHGHjP17CTW0/+D9Lfw0EkjqF7xB4FivAxzic30tMM4GF+hR6Dxh71"
    "Z50VGGdldkkDXZCnTNnoXQ=="
)
SECRET = "uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ=="
KEYS = {
    "test-key-rsa-pss": ExpectedKey("rsa-pss-sha512", base64.b64decode(PSS_KEY)),
    "test-key-ecc-p256": ExpectedKey("ecdsa-p256-sha256", base64.b64decode(P256_KEY)),
    "test-shared-secret": ExpectedKey("hmac-sha256", base64.b64decode(SECRET)),
    "test-key-ed25519": ExpectedKey(
        "ed25519", bytes.fromhex("26b40b8f93fff3d897112f7ebc582b232dbd72517d082fe83cfb30ddce43d1bb")
    ),
}
SIGNATURES = {
    "sig-b21": (
        "d2pmTvmbncD3xQm8E9ZV2828BjQWGgiwAaw5bAkgibUopemLJcWDy/lkbbHAve4cRAtx31Iq786U7it++wgGxbtRxf8Udx7zFZsc"
        "kzXaJMkA7ChG52eSkFxykJeNqsrWH5S+oxNFlD4dzVuwe8DhTSja8xxbR/Z2cOGdCbzR72rgFWhzx2VjBqJzsPLMIQKhO4DGezXe"
        "hhWwE56YCE+O6c0mKZsfxVrogUvA4HELjVKWmAvtl6UnCh8jYzuVG5WSb/QEVPnP5TmcAnLH1g+s++v6d4s8m0gCw1fV5/SITLq9"
        "mhho8K3+7EPYTU8IU1bLhdxO5Nyt8C8ssinQ98Xw9Q=="
    ),
    "sig-b22": (
        "LjbtqUbfmvjj5C5kr1Ugj4PmLYvx9wVjZvD9GsTT4F7GrcQEdJzgI9qHxICagShLRiLMlAJjtq6N4CDfKtjvuJyE5qH7KT8UCMkS"
        "owOB4+ECxCmT8rtAmj/0PIXxi0A0nxKyB09RNrCQibbUjsLS/2YyFYXEu4TRJQzRw1rLEuEfY17SARYhpTlaqwZVtR8NV7+4UKkj"
        "qpcAoFqWFQh62s7Cl+H2fjBSpqfZUJcsIk4N6wiKYd4je2U/lankenQ99PZfB4jY3I5rSV2DSBVkSFsURIjYErOs0tFTQosMTAox"
        "k//0RoKUqiYY8Bh0aaUEb0rQl3/XaVe4bXTugEjHSw=="
    ),
    "sig-b23": (
        "bbN8oArOxYoyylQQUU6QYwrTuaxLwjAC9fbY2F6SVWvh0yBiMIRGOnMYwZ/5MR6fb0Kh1rIRASVxFkeGt683+qRpRRU5p2voTp76"
        "8ZrCUb38K0fUxN0O0iC59DzYx8DFll5GmydPxSmme9v6ULbMFkl+V5B1TP/yPViV7KsLNmvKiLJH1pFkh/aYA2HXXZzNBXmIkoQo"
        "Ld7YfW91kE9o/CCoC1xMy7JA1ipwvKvfrs65ldmlu9bpG6A9BmzhuzF8Eim5f8ui9eH8LZH896+QIF61ka39VBrohr9iyMUJpvRX"
        "2Zbhl5ZJzSRxpJyoEZAFL2FUo5fTIztsDZKEgM4cUA=="
    ),
    "sig-b24": "wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw==",
    "sig-b25": "pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=",
    "sig-b26": "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==",
    "ttrp": "xVMHVpawaAC/0SbHrKRs9i8I3eOs5RtTMGCWXm/9nvZzoHsIg6Mce9315T6xoklyy0yzhD9ah4JHRwMLOgmizw==",
    "transform": "ZT1kooQsEHpZ0I1IjCqtQppOmIqlJPeo7DHR3SoMn0s5JZ1eRGS0A+vyYP9t/LXlh5QMFFQ6cpLt2m0pmj3NDA==",
}
CLIENT_CERTIFICATE = (
    "MIIBqDCCAU6gAwIBAgIBBzAKBggqhkjOPQQDAjA6MRswGQYDVQQKDBJMZXQncyBBdXRoZW50aWNhdGUxGzAZBgNVBAMMEkxBIElu"
    "dGVybWVkaWF0ZSBDQTAeFw0yMDAxMTQyMjU1MzNaFw0yMTAxMjMyMjU1MzNaMA0xCzAJBgNVBAMMAkJDMFkwEwYHKoZIzj0CAQYI"
    "KoZIzj0DAQcDQgAE8YnXXfaUgmnMtOXU/IncWalRhebrXmckC8vdgJ1p5Be5F/3YC8OthxM4+k1M6aEAEFcGzkJiNy6J84y7uzo9"
    "M6NyMHAwCQYDVR0TBAIwADAfBgNVHSMEGDAWgBRm3WjLa38lbEYCuiCPct0ZaSED2DAOBgNVHQ8BAf8EBAMCBsAwEwYDVR0lBAww"
    "CgYIKwYBBQUHAwIwHQYDVR0RAQH/BBMwEYEPYmRjQGV4YW1wbGUuY29tMAoGCCqGSM49BAMCA0gAMEUCIBHda/r1vaL6G3VliL4/"
    "Di6YK0Q6bMjeSkC3dFCOOB8TAiEAx/kHSB4urmiZ0NX5r5XarmPk0wmuydBVoU4hBVZ1yhk="
)
EXAMPLES = {
    "sig-b21": ((), 'keyid="test-key-rsa-pss";nonce="b3k2pp5k7z-50gnwp.yemd"'),
    "sig-b22": (
        ("@authority", "content-digest", '"@query-param";name="Pet"'),
        'keyid="test-key-rsa-pss";tag="header-example"',
    ),
    "sig-b23": (
        ("date", "@method", "@path", "@query", "@authority", "content-type", "content-digest", "content-length"),
        'keyid="test-key-rsa-pss"',
    ),
    "sig-b24": (("@status", "content-type", "content-digest", "content-length"), 'keyid="test-key-ecc-p256"'),
    "sig-b25": (("date", "@authority", "content-type"), 'keyid="test-shared-secret"'),
    "sig-b26": (
        ("date", "@method", "@path", "@authority", "content-type", "content-length"),
        'keyid="test-key-ed25519"',
    ),
    "ttrp": (("@path", "@query", "@method", "@authority", "client-cert"), 'keyid="test-key-ecc-p256"'),
    "transform": (("@method", "@path", "@authority", "accept"), 'keyid="test-key-ed25519"'),
}


def key_of(label: str) -> ExpectedKey:
    return KEYS[EXAMPLES[label][1].split('"')[1]]


def signed_fields(label: str, fields: dict[str, Any]) -> Fields:
    names, parameters = EXAMPLES[label]
    components = " ".join(name if name.startswith('"') else f'"{name}"' for name in names)
    told = {
        "Signature-Input": f"{label}=({components});created=1618884473;{parameters}",
        "Signature": f"{label}=:{SIGNATURES[label]}:",
    }
    return Fields(fields | told)


def request(label: str, fields: dict[str, Any] | None = None, **changes: Any) -> Message:
    """Return the appendix's request, `POST https://example.com/foo?param=Value&Pet=dog` (B.2), signed as an example."""
    message = Message(
        signed_fields(label, REQUEST_FIELDS if fields is None else fields),
        b'{"hello": "world"}',
        "POST",
        "example.com",
        "/foo",
        "param=Value&Pet=dog",
        "https",
    )
    return replace(message, **changes)


def response(**changes: Any) -> Message:
    """Return the appendix's response, signed as B.2.4."""
    message = Message(signed_fields("sig-b24", RESPONSE_FIELDS), b'{"message": "good dog"}', status=200)
    return replace(message, **changes)


def demo(accept: str | list[str], further: dict[str, str] | None = None, **changes: Any) -> Message:
    """Return the message of B.4 after a transformation."""
    fields = signed_fields("transform", {"Accept": accept, **(further or {})})
    message = Message(fields, b"", "GET", "example.org", "/demo", "name1=Value1&Name2=value2", "https")
    return replace(message, **changes)


def judge_label(label: str, message: Message, key: ExpectedKey | None = None) -> MessageVerdict:
    expected = key or key_of(label)
    policy = Policy([expected.algorithm], require_content_digest=False)
    return judge_message(message, policy, expected, now=NOW)


def test_b_2_1_holds_and_covers_nothing() -> None:
    """The signature of the minimal example is right, and it protects nothing, which is its one fault here."""
    result = judge_label("sig-b21", request("sig-b21"))

    assert result.codes == ["empty_components"]
    assert result.base is not None
    assert key_of("sig-b21").verify(result.base.text.encode(), base64.b64decode(SIGNATURES["sig-b21"]))


@pytest.mark.parametrize("label", ["sig-b22", "sig-b23", "sig-b25", "sig-b26"])
def test_b_2_requests_are_valid(label: str) -> None:
    """RSA-PSS over a few and over many components, HMAC, Ed25519."""
    assert judge_label(label, request(label)).codes == []


def test_b_2_4_the_response_is_valid() -> None:
    """ECDSA over P-256, on a response."""
    assert judge_label("sig-b24", response()).codes == []


def test_b_3_the_proxy_s_signature_is_valid_behind_it() -> None:
    """What a proxy that ends TLS signed holds for the service behind it, and not for the client's authority."""
    fields = REQUEST_FIELDS | {"Client-Cert": f":{CLIENT_CERTIFICATE}:"}
    behind = request("ttrp", fields, authority="service.internal.example")

    assert judge_label("ttrp", behind).codes == []
    assert judge_label("ttrp", request("ttrp", fields)).codes == ["signature_mismatch"]


@pytest.mark.parametrize(
    ("message", "codes"),
    [
        (demo(["application/json", "*/*"], {"Date": "Fri, 15 Jul 2022 14:24:55 GMT"}), []),
        (
            demo(
                ["application/json", "*/*"],
                {"Accept-Language": "en-US,en;q=0.5"},
                query="name1=Value1&Name2=value2&param=added",
            ),
            [],
        ),
        (demo("application/json, */*", {"Referer": "https://developer.example.org/demo"}), []),
        (demo(["application/json", "*/*"], method="POST", authority="example.com"), ["signature_mismatch"]),
        (demo(["*/*", "application/json"]), ["signature_mismatch"]),
    ],
)
def test_b_4_transformations(message: Message, codes: list[str]) -> None:
    """What is not covered may change, values may be joined; another method, authority or order is found."""
    assert judge_label("transform", message).codes == codes


@pytest.mark.parametrize("label", ["sig-b22", "sig-b23", "sig-b24", "sig-b25", "sig-b26"])
def test_one_changed_octet_of_a_signature_is_found(label: str) -> None:
    """At its beginning, in the middle and at its end."""
    message = response() if label == "sig-b24" else request(label)
    signature = base64.b64decode(SIGNATURES[label])
    for place in (0, len(signature) // 2, len(signature) - 1):
        forged_signature = signature[:place] + bytes([signature[place] ^ 1]) + signature[place + 1 :]
        fields = {name: list(message.fields.values(name)) for name in message.fields.names()}
        text = f"{label}=:{base64.b64encode(forged_signature).decode()}:"
        changed_message = replace(message, fields=Fields({**fields, "signature": text}))
        assert judge_label(label, changed_message).codes == ["signature_mismatch"]


@pytest.mark.parametrize("label", ["sig-b22", "sig-b24", "sig-b25", "sig-b26"])
@pytest.mark.parametrize("length", [0, 1, 31, 32, 63, 64, 65, 96, 255, 256, 257])
def test_a_signature_of_another_length_is_found(label: str, length: int) -> None:
    """No length is an exception."""
    key = key_of(label)

    assert key.verify(b"base", b"\x01" * length) is False


@pytest.mark.parametrize("label", ["sig-b22", "sig-b24", "sig-b25", "sig-b26"])
def test_another_algorithm_of_the_message_is_refused(label: str) -> None:
    """The expected key names the algorithm, whatever the message says (P-AG-04)."""
    message = response() if label == "sig-b24" else request(label)
    fields = {name: list(message.fields.values(name)) for name in message.fields.names()}
    input_field = fields["signature-input"][0] + ';alg="rsa-v1_5-sha256"'
    changed_message = replace(message, fields=Fields({**fields, "signature-input": input_field}))

    assert "alg_not_allowed" in judge_label(label, changed_message).codes


@pytest.mark.parametrize(
    ("algorithm", "material"),
    [
        ("rsa-pss-sha512", b"no key"),
        ("rsa-pss-sha512", base64.b64decode(P256_KEY)),
        ("rsa-v1_5-sha256", b""),
        ("ecdsa-p256-sha256", base64.b64decode(PSS_KEY)),
        ("ecdsa-p384-sha384", base64.b64decode(P256_KEY)),
        ("ecdsa-p256-sha256", base64.b64decode(P256_KEY)[:-1] + b"\x00"),
        ("hmac-sha256", b""),
        ("ed25519", bytes(32)),
    ],
)
def test_keys_that_do_not_fit_are_rejected(algorithm: str, material: bytes) -> None:
    """Of another type, on another curve, off the curve, or nothing at all: key_rejected, and no exception."""
    assert judge_label("sig-b26", request("sig-b26"), ExpectedKey(algorithm, material)).codes == ["key_rejected"]
