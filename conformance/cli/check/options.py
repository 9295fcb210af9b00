"""The options of `weldproof check`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """Options of `weldproof check`.

    Attributes:
        url: The address of a server, or `PAYER`.
        method: `--method`: HTTP method of the paid call.
        seconds: `--seconds`: longest duration; None takes the usual one of servers or payers.
        pay: `--pay`: then run the suite with payments.
        config: `--config`: a profile.
        lane: `--lane`: the lane of a payer.
        stock: `--stock`: the payer is a stock x402 client.
        cacert: `--cacert`.
        insecure: `--insecure`.
        timeout: `--timeout` in seconds.
        seed: `--seed`; None takes the usual one.
        as_json: `--json`.
    """

    url: str
    method: str
    seconds: float | None
    pay: bool
    config: Path | None
    lane: str | None
    stock: bool
    cacert: Path | None
    insecure: bool
    timeout: float | None
    seed: int | None
    as_json: bool
