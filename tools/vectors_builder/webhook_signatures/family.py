"""The family of webhook signatures: its files, its judge, and the two other receivers."""

from __future__ import annotations

from typing import Final

from conformance.vectors.judges.webhook_signatures import judge
from tools.vectors_builder.family import Family
from tools.vectors_builder.webhook_signatures import headers, second_opinion, signatures, times, valid
from tools.vectors_builder.webhook_signatures.known_differences import DIFFERENCES

FAMILY: Final = Family(
    name="webhook_signatures",
    prefix="webhooks",
    title="signatures of webhook deliveries: t=<unix seconds>,v1=<HMAC-SHA256 in hex>",
    input={
        "header": "the value of the signature header",
        "body_b64": "the body's bytes as they came, in base64",
        "secret": "the destination's secret, as text",
        "scheme": "the member that the receiver goes by: v1, or v2 (profile P-WH-06)",
        "template": "what the operator declares as covered: {t} stands for the time's digits, {body} for the body",
        "service_word": "the service's word, which v2 draws its key with",
        "now": "the receiver's time, in unix seconds",
        "tolerance_seconds": "how far the time may be from now, to either side",
    },
    stages=("header", "time", "signature"),
    files={
        "valid.json": (
            valid.events,
            valid.members,
            valid.times,
            valid.secrets,
            valid.templates,
            valid.second_scheme,
        ),
        "headers.json": (
            headers.absent,
            headers.times,
            headers.macs,
            headers.punctuation,
            headers.second_scheme,
        ),
        "times.json": (times.drafts,),
        "signatures.json": (
            signatures.bodies,
            signatures.times,
            signatures.secrets,
            signatures.constructions,
            signatures.messages,
            signatures.beside,
            signatures.second_scheme,
        ),
    },
    judge=judge,
    second=second_opinion.complaints,
    differences=DIFFERENCES,
)
