"""The family of RFC 9421: its files, and what two other libraries say of each message and of its equation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from conformance.vectors.judges.message_signatures import judge, judge_vector
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.family import Family
from tools.vectors_builder.message_signatures import (
    appendix_b,
    bad_algorithms,
    bad_coverage,
    bad_digests,
    bad_headers,
    bad_parameters,
    second_opinion,
    signature_mismatches,
    valid,
    valid_offline,
)
from tools.vectors_builder.message_signatures.known_differences import DIFFERENCES


def complaints(draft: Draft) -> Iterator[str]:
    """Yield where another library disagrees with the suite about a draft."""
    message, key, policy = (draft.input[name] for name in ("message", "key", "policy"))
    judgement = judge_vector(message, key, policy)
    whole = second_opinion.whole_message(message, key, policy)
    if whole is not None and whole is not judgement.is_valid:
        yield f"http-message-signatures says {whole}, the suite says {judgement.is_valid}"
    text = None if judgement.base is None else judgement.base.text
    outcome = judgement.outcomes["signature"]
    if text is not None and judgement.signature is not None and outcome != "skipped":
        holds = second_opinion.equation(key, judgement.signature.signature, text)
        if holds is not (outcome == "pass"):
            yield f"the equation: PyCryptodome says {holds}, the suite says {outcome}"


FAMILY: Final = Family(
    name="message_signatures",
    prefix="rfc9421",
    title="signed HTTP messages (RFC 9421) with their content digests (RFC 9530)",
    input={
        "message": "method, authority, path, headers, and where they matter query, scheme, status, body_b64, trailers, "
        "related_request",
        "key": "the expected key: its algorithm, with public_key_hex, did_key, public_key_pem or secret_b64",
        "policy": "what the verifier demands beyond the RFC; a content needs a covered digest unless "
        "require_content_digest is false",
    },
    stages=("headers", "coverage", "parameters", "key", "digest", "equation"),
    files={
        "rfc.json": (appendix_b.drafts,),
        "valid.json": (valid.drafts,),
        "valid_offline.json": (valid_offline.drafts,),
        "headers.json": (bad_headers.drafts,),
        "coverage.json": (bad_coverage.drafts,),
        "parameters_and_keys.json": (bad_parameters.drafts,),
        "digests.json": (bad_digests.drafts,),
        "equations.json": (signature_mismatches.drafts, bad_algorithms.drafts),
    },
    judge=judge,
    second=complaints,
    differences=DIFFERENCES,
)
