"""Names of the agent that the interface leaves open, and the reference's own.

A body is a template: a text that is one placeholder stands for a value of any JSON type, a placeholder inside a text
for its text, and a member without a value is left out. Placeholders: `{method}`, `{authority}`, `{scheme}`, `{path}`
(with its query), `{url}`, `{status}`, `{headers}` (an object), `{header_list}` (pairs), `{signature_input}`,
`{signature}`, `{content_digest}`, `{body}` (text), `{body_b64}`, `{public_key_hex}` and `{did_key}` (one of them, as a
check wants it), `{key_hex}`, `{key_b64}` and `{key_jwk}` (whenever there is a key).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import Field

from conformance.target.placeholder_validation import placeholders
from conformance.target.tables import Table

_PORTS: Final = {"http": 80, "https": 443}
_OF_SIGNED = (
    *("method", "authority", "scheme", "path", "url", "status", "headers", "header_list", "signature_input"),
    *("signature", "content_digest", "body", "body_b64", "public_key_hex", "did_key", "key_hex", "key_b64", "key_jwk"),
)
_Body = Annotated[Mapping[str, Any] | None, placeholders(*_OF_SIGNED)]


# A check of the copy without network access must not call the agent itself under another name.
def same_address(first: str, second: str) -> bool:
    """Return whether two addresses are the same, whatever names a loopback host is given."""

    def parts(url: str) -> tuple[str, str, int | None, str]:
        found = urlsplit(url)
        host = (found.hostname or "").rstrip(".")
        # All names of the loopback interface are one host.
        host = "localhost" if host == "::1" or host.startswith("127.") else host
        return found.scheme, host, found.port or _PORTS.get(found.scheme), found.path.rstrip("/")

    return parts(first) == parts(second)


class AgentBindings(Table):
    """What an operator may bind. None means: discover it, else the row is `unbound`.

    Places are dotted paths into an answer, such as `content_digest.computed`; a number is an index.

    Attributes:
        verify_body: Body of verify.
        explain_body: Body of explain; unset, that of verify.
        sign_body: Body of sign, which knows no key and no signature.
        validity_at: Whether the message is valid: true and false, or words such as pass and fail.
        validity_words: Meaning of words for validity and verdict besides the usual ones, such as `accepted = true`
            and `refused = false`, or `true = false` if the member is true for a fault. If bound, an unknown word
            decides nothing.
        verdict_at: The same in an explanation, if the verdict is at another place there.
        errors_at: The list of errors.
        signing_base_at: The signature base, as text or as a list of lines.
        digest_at: The recomputed digest of the content.
        notes_at: The fix notes, a text or a list of texts.
        demo_key_at: The public key in an answer of sign: hex, did:key, base64 or a JWK.
        signed_fields: Places in an answer of sign of the header fields that signing adds, by their names: of
            `signature-input` and `signature`, and of `content-digest` where there is one. Unset, they are looked for.
        openapi_path: Path of the OpenAPI document.
        codes_at: The list of error codes, such as `error_codes`, or `problems.code` where each item of a list has one.
        error_codes: The target's code by the profile's; bound, codes of vectors are compared.
        skew: Seconds that the target lets clocks differ.
        offline_url: Address of the same agent, run where it can reach no network; another than that of the surface.
    """

    verify_body: _Body = None
    explain_body: _Body = None
    sign_body: _Body = None
    validity_at: str | None = None
    validity_words: Mapping[str, bool] | None = None
    verdict_at: str | None = None
    errors_at: str | None = None
    signing_base_at: str | None = None
    digest_at: str | None = None
    notes_at: str | None = None
    demo_key_at: str | None = None
    signed_fields: Mapping[str, str] | None = None
    openapi_path: str | None = None
    codes_at: str | None = None
    error_codes: Mapping[str, str] | None = None
    skew: int | None = Field(default=None, ge=0)
    offline_url: str | None = None


# The family's own names of a message and of the expected key.
MESSAGE: Mapping[str, Any] = {
    "method": "{method}",
    "authority": "{authority}",
    "scheme": "{scheme}",
    "path": "{path}",
    "status": "{status}",
    "headers": "{headers}",
    "body_b64": "{body_b64}",
}
KEYS: Mapping[str, Any] = {"public_key_hex": "{public_key_hex}", "did_key": "{did_key}"}
# The reference's own codes are their meanings. A target with other codes binds each meaning to its code.
_CODES = (
    *("missing_signature_input", "missing_signature", "malformed_signature_input", "malformed_signature"),
    *("label_mismatch", "multiple_labels", "empty_components", "duplicate_component", "unsupported_component"),
    *("missing_component", "required_component_missing", "alg_not_allowed", "tag_mismatch", "created_in_future"),
    *("expired", "too_old", "key_rejected", "content_digest_missing", "content_digest_not_covered"),
    *("content_digest_malformed", "content_digest_unsupported", "content_digest_mismatch", "signature_mismatch"),
)
REFERENCE_AGENT = AgentBindings(
    verify_body={**MESSAGE, **KEYS},
    explain_body={**MESSAGE, **KEYS},
    sign_body={name: value for name, value in MESSAGE.items() if name != "status"},
    validity_at="valid",
    errors_at="errors",
    signing_base_at="signature_base",
    digest_at="content_digest.computed",
    notes_at="fix_notes",
    demo_key_at="public_key_hex",
    openapi_path="/openapi.json",
    codes_at="error_codes",
    error_codes={code: code for code in _CODES},
    skew=60,
)
