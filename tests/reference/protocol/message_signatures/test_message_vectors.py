"""The published examples of RFC 9421 and RFC 9530."""

from __future__ import annotations

from typing import Any

import pytest

from reference.protocol.message_signatures import MessageVerifyRequest, explain, verify

B_2_6: dict[str, Any] = {
    "method": "POST",
    "authority": "example.com",
    "path": "/foo?param=Value&Pet=dog",
    "scheme": "http",
    "headers": {
        "Host": "example.com",
        "Date": "Tue, 20 Apr 2021 02:07:55 GMT",
        "Content-Type": "application/json",
        "Content-Length": "18",
        "Content-Digest": "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm"
        "+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:",
        "Signature-Input": 'sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length")'
        ';created=1618884473;keyid="test-key-ed25519"',
        "Signature": "sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu"
        "4A0w6vuQv5lIp5WPpBKRCw==:",
    },
    "body_b64": "eyJoZWxsbyI6ICJ3b3JsZCJ9",
    "public_key_hex": "26b40b8f93fff3d897112f7ebc582b232dbd72517d082fe83cfb30ddce43d1bb",
    "require_content_digest": False,
}
BASE_OF_B_2_6 = """\
"date": Tue, 20 Apr 2021 02:07:55 GMT
"@method": POST
"@path": /foo
"@authority": example.com
"content-type": application/json
"content-length": 18
"@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length")\
;created=1618884473;keyid="test-key-ed25519\""""
NOW = 1618884473


def test_rfc_9421_b_2_6_is_valid() -> None:
    """The ed25519 example of RFC 9421 verifies, with the base that the RFC prints."""
    result = verify(MessageVerifyRequest.model_validate(B_2_6), now=NOW)

    assert result == {
        "valid": True,
        "errors": [],
        "error_codes": [],
        "checked": {"signature": "pass", "content_digest": "pass", "created": "pass", "expires": "skipped"},
        "signature_valid": True,
        "content_digest_valid": True,
        "signature_base": BASE_OF_B_2_6,
        "signing_base": BASE_OF_B_2_6,
        "covered_components": [
            "date",
            "@method",
            "@path",
            "@authority",
            "content-type",
            "content-length",
        ],
        "parameters": {"created": NOW, "keyid": "test-key-ed25519"},
        "label": "sig-b26",
        "spec_ref": "https://www.rfc-editor.org/rfc/rfc9421",
        "digest_spec_ref": "https://www.rfc-editor.org/rfc/rfc9530",
    }


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        ({"method": "PUT"}, ["signature_mismatch"]),
        ({"path": "/fop?param=Value&Pet=dog"}, ["signature_mismatch"]),
        ({"path": "/foo?param=Value&Pet=cat"}, []),
        ({"authority": "example.org"}, ["signature_mismatch"]),
        ({"authority": "EXAMPLE.com:80"}, []),
        ({"authority": "example.com:443"}, ["signature_mismatch"]),
        ({"body_b64": "eyJoZWxsbyI6ICJ3b3JsZSJ9"}, ["content_digest_mismatch"]),
        ({"require_content_digest": True}, ["content_digest_not_covered"]),
        (
            {"public_key_hex": "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"},
            ["signature_mismatch"],
        ),
    ],
)
def test_a_changed_b_2_6_is_judged_by_what_it_covers(change: dict[str, Any], codes: list[str]) -> None:
    """A change in what the signature covers is found; one in what it leaves out is not."""
    result = verify(MessageVerifyRequest.model_validate(B_2_6 | change), now=NOW)

    assert codes == result["error_codes"]
    assert (not codes) is result["valid"]


@pytest.mark.parametrize(
    ("algorithm", "digest"),
    [
        ("sha-256", "X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE="),
        ("sha-512", "WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew=="),
    ],
)
def test_digests_of_rfc_9530_match(algorithm: str, digest: str) -> None:
    """The two digests that the RFCs print for their example body are found right."""
    headers = B_2_6["headers"] | {"Content-Digest": f"{algorithm}=:{digest}:"}

    result = explain(MessageVerifyRequest.model_validate(B_2_6 | {"headers": headers}), now=NOW)

    expected = {
        "present": True,
        "covered": False,
        "algorithm": algorithm,
        "provided": digest,
        "computed": digest,
        "match": True,
    }
    assert expected == result["content_digest"]
