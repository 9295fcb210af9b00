"""Vectors of receipts: compliance and payable ones and settlement attestations, true ones and ones with one fault."""

from __future__ import annotations

from typing import Final

from conformance.vectors.judges.receipts import STAGES, judge
from tools.vectors_builder.family import Family
from tools.vectors_builder.receipts import (
    bad_algorithms,
    bad_formats,
    bad_headers,
    bad_keys,
    bad_members,
    bad_payloads,
    bad_signatures,
    bindings,
    second_opinion,
    valid,
    valid_canonical,
)
from tools.vectors_builder.receipts.known_differences import DIFFERENCES

FAMILY: Final = Family(
    name="receipts",
    prefix="receipts",
    title="compliance receipts, payable receipts and settlement attestations",
    input={
        "jws": "The receipt as a compact JWS; any JSON value, or absent, where that is the fault.",
        "jwks": "The key set that it is to be verified with; no other key counts.",
        "expected_payment_hash": "The payment that it must be bound to, compared as text; absent: none is expected.",
        "request": "The paid request, to recompute request_hash from: method, path, query, service_id, body as JSON.",
        "response": "The paid answer, to recompute response_hash from: its member result as JSON.",
        "settlement": "The settled payment, to recompute the payment's hash from: tx_id, network, service word.",
        "payment_reference": "The challenge token, to recompute payment_reference_hash from.",
        "payer": "The screened payer, to recompute payer_ref from: address, network.",
    },
    stages=STAGES,
    files={
        "valid.json": (valid.drafts, valid_canonical.drafts),
        "format.json": (bad_formats.drafts, bad_headers.drafts),
        "keys_and_algorithms.json": (bad_keys.drafts, bad_algorithms.drafts),
        "signatures.json": (bad_signatures.drafts,),
        "payloads.json": (bad_payloads.drafts,),
        "members.json": (bad_members.drafts,),
        "bindings.json": (bindings.drafts,),
    },
    judge=judge,
    second=second_opinion.complaints,
    differences=DIFFERENCES,
)
