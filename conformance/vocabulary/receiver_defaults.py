"""Default values of the suite's webhook receiver, which the help of its command shows."""

from __future__ import annotations

from typing import Final

# Bytes of a delivery's body.
BODY_LIMIT: Final = 1_048_576
# Seconds that `t` may be away from the time of delivery.
TOLERANCE_SECONDS: Final = 300
# Seconds in which the receiver of a forwarded delivery must answer.
FORWARD_SECONDS: Final = 10.0


SECRET_VARIABLE: Final = "WELDPROOF_WEBHOOK_SECRET"  # noqa: S105 - a variable's name


SERVICE_WORD: Final = "Weldproof"
