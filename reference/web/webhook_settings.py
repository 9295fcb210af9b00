"""Settings of webhooks, which the gateway's own include (specification 9, P-WH-06, P-WH-08, P-WH-10)."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_settings import NoDecode

from reference.protocol.webhook_delivery import DEFAULT_SCHEDULE
from reference.web.settings import CommonSettings, Switch


def _numbers(value: object) -> object:
    # Values of tests are tuples already; only the environment has text.
    if not isinstance(value, str):
        return value
    return [int(part) if part.strip().isdecimal() else part for part in value.split(",") if part.strip()]


Schedule = Annotated[
    tuple[Annotated[int, Field(strict=True, ge=0)], ...], NoDecode, BeforeValidator(_numbers), Field(max_length=20)
]


class WebhookSettings(CommonSettings):
    """The settings of webhooks."""

    webhook_timeout: float = Field(default=5, gt=0, le=60)
    webhook_schedule: Schedule = DEFAULT_SCHEDULE
    webhook_keep_days: int = Field(default=365, ge=0, le=36_500)
    webhook_v2: Switch = False
    webhook_allow_loopback: Switch | None = None

    @model_validator(mode="after")
    def _loopback_is_for_tests(self) -> Self:
        # Loopback in production would let a tenant reach services of the gateway's own machine (P-WH-10).
        if self.mode == "live" and self.webhook_allow_loopback:
            raise ValueError("WP_WEBHOOK_ALLOW_LOOPBACK: live mode refuses loopback destinations; leave it unset")
        return self

    @property
    def loopback_webhooks(self) -> bool:
        """Whether http and loopback destinations are allowed: on in test mode unless it is switched off."""
        return self.mode == "test" and self.webhook_allow_loopback is not False
