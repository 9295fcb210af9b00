"""The family of challenge tokens."""

from __future__ import annotations

from typing import Final

from conformance.vectors.judges.challenges import judge
from tools.vectors_builder.challenges import (
    bad_origin,
    bad_request,
    bad_syntax,
    bad_times,
    second_opinion,
    valid,
)
from tools.vectors_builder.family import Family

FAMILY: Final = Family(
    name="challenges",
    prefix="challenges",
    title="challenge tokens of the rail",
    input={
        "token": "the text that a client offers as payment_reference or challenge_token",
        "secret_hex": "the rail's secret, 32 bytes",
        "service_word": "the deployment's word as it is set; labels carry it in lower case",
        "lanes": "what is accepted, every generation of it: caip2, asset, amount in atomic units, pay_to",
        "service_id": "the service that is called",
        "request": "the present request: method, path, raw query, JSON body; request_hash may stand in its place",
        "request_hash": "hash reference of the present request",
        "now": "the verifier's time, unix seconds",
        "ttl_seconds": "lifetime of a token",
    },
    stages=("syntax", "origin", "request", "time"),
    reported_values=("lane", "request_hash", "payment_reference_hash"),
    files={
        "valid.json": (valid.drafts,),
        "syntax.json": (bad_syntax.drafts,),
        "origin.json": (bad_origin.drafts,),
        "request.json": (bad_request.drafts,),
        "time.json": (bad_times.drafts,),
    },
    judge=judge,
    second=second_opinion.complaints,
)
