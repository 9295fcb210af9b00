"""Request models of the ZK receipt's operations."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, field_validator, model_validator

from reference.protocol.canonical_json import MAX_INTEGER
from reference.protocol.networks import NETWORKS
from reference.protocol.time_text import unix_of
from reference.protocol.zk_receipts import HIGHEST_SCORE, LIFETIME_SECONDS

Text = Annotated[str, Field(strict=True)]
Name = Annotated[str, Field(strict=True, min_length=1, max_length=512)]
Milliunits = Annotated[int, Field(strict=True, ge=0, le=HIGHEST_SCORE)]


class IssueRequest(BaseModel):
    """A settled payment, a score and the threshold that it reaches; a certificate may replace the score."""

    payment_id: Name
    chain: Text
    amount_microusd: Annotated[int, Field(strict=True, ge=0, le=MAX_INTEGER)]
    recipient: Name
    tx_id: Name
    settled_at: Text
    bench_issuer: Name | None = None
    # Never shown, also not in logs: the receipt exists to keep it secret.
    score_milliunits: Annotated[Milliunits | None, Field(repr=False)] = None
    threshold_milliunits: Milliunits
    ttl_seconds: Annotated[int, Field(strict=True, ge=1, le=LIFETIME_SECONDS)] = LIFETIME_SECONDS
    atb_certificate: Text | None = None

    @field_validator("chain")
    @classmethod
    def _is_a_network(cls, chain: str) -> str:
        if chain not in NETWORKS:
            raise ValueError("no network has this key")
        return chain

    @field_validator("settled_at")
    @classmethod
    def _is_an_instant(cls, settled_at: str) -> str:
        unix_of(settled_at)
        return settled_at

    @model_validator(mode="after")
    def _somebody_measured(self) -> IssueRequest:
        if self.atb_certificate is None and (self.bench_issuer is None or self.score_milliunits is None):
            raise ValueError("send bench_issuer and score_milliunits, or a certificate that holds them")
        return self


class VerifyRequest(BaseModel):
    """A receipt."""

    receipt: Text
