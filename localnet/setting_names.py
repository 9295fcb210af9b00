"""The settings that services take, by name: what `up --setting` lets pass, and what it leaves out of the environment.

Written down here because `localnet` imports no service; a test holds the list to what the services read.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Final

from localnet.lanes.registry import LANES

_COMMON: Final = (
    *("A2A_X402_URI", "BIND", "BODY_LIMIT", "CHAIN_POLL_SECONDS", "CHALLENGE_TTL", "CHECKOUT_TOKEN_RATE"),
    *("CLOCK_OFFSET_FILE", "DRAIN_SECONDS", "FEATURES", "IDEMPOTENCY_TTL", "IDEMPOTENCY_WAIT"),
    *("IP_BURST", "IP_RATE", "JURISDICTION_FLAGS", "KEY_OVERLAP_DAYS", "KEY_PREFIX", "LATE_WATCH_SECONDS"),
    *(
        "LINK_TTL_DEFAULT",
        "LINK_TTL_MAX",
        "LINK_TTL_MIN",
        "LOCAL_NETWORKS",
        "LOG_FORMAT",
        "LOG_LEVEL",
        "MAINNET_ALLOWANCE_MICROUNITS",
    ),
    *(
        "METRICS_ADDRESS",
        "METRICS_TOKEN_FILE",
        "MODE",
        "QR_DATA",
        "RATES",
        "RATE_LIMITS",
        "RATE_STORE",
        "RATE_STORE_PASSWORD_FILE",
        "RECEIPT_VERIFY_RATE",
        "RETIRED_KEY_DAYS",
    ),
    *("SERVER", "SERVICE_WORD", "SKEW_SECONDS", "TENANT_BURST", "TENANT_RATE", "TRIAL_DAYS"),
    *("TRUSTED_PROXIES", "WEBHOOK_ALLOW_LOOPBACK", "WEBHOOK_KEEP_DAYS", "WEBHOOK_SCHEDULE", "WEBHOOK_TIMEOUT"),
    *("PAID_WORK_LIMIT", "REQUEST_LOG", "WEBHOOK_V2", "WORK_LIMIT"),
)
_OWN: Final[Mapping[str, tuple[str, ...]]] = {
    "WP_ADDON_": ("DATA_DIR", "FD", "PORT", "RATE"),
    "WP_AGENT_": ("BODY_LIMIT", "FD", "PORT", "PUBLIC_URL", "RATE"),
    "WP_GATEWAY_": (
        *("DATA_DIR", "DB", "FD", "NODE_BEHIND_SECONDS", "PORT"),
        *("PUBLIC_URL", "ROLE", "SIGNING_KEY_FILE", "TRUSTED_JWKS"),
    ),
    "WP_RAIL_": (
        *("CONFIRM_WAIT", "DATA_DIR", "DB", "DISABLED_SERVICES", "FD", "JOIN_WAIT", "LANES", "LEASE_SECONDS"),
        *("NODE_BEHIND_SECONDS", "NODE_LOOK_SECONDS", "FAILURES", "PAYER_FAILURES"),
        *("PORT", "PRICES", "PUBLIC_URL", "RATE", "RECHECK_SECONDS", "SCHEME"),
        *("SETTLE_WINDOW", "SIGNING_KEY_FILE", "STORE_SECONDS", "STUCK_SECONDS", "TOKEN_SECRET_FILE", "TRUSTED_JWKS"),
    ),
    "S2CP_": (
        "ADMIN_REGISTERS",
        "DATA_DIR",
        "DB",
        "FD",
        "HEALTH_TIMEOUT",
        "HOST",
        "ISSUER_DID",
        "PORT",
        "RATE",
        "SERVICE_NETWORKS",
    ),
    "S2_HUB_": ("MAX_STALE_SECONDS", "NAME", "POLL_SECONDS", "SELF_URL", "TOKEN", "URL"),
}
NAMES: Final = frozenset(
    {f"WP_{name}" for name in _COMMON}
    | {prefix + name for prefix, names in _OWN.items() for name in names}
    | {name for lane in LANES.values() for name in (f"WP_RAIL_PAYTO_{lane.name.upper()}", *lane.settings)}
)
# Where a network's nodes are, by its key.
_OF_NETWORKS: Final = re.compile(r"WP_(NODE|NODE_WS|INDEXER)_[A-Z]+_[A-Z]+|WP_NODE_TOKEN_[A-Z]+_[A-Z]+_FILE")
_PREFIXES: Final = ("WP_", "S2CP_", "S2_")


def is_known(name: str) -> bool:
    """Return whether some service takes a setting of this name."""
    return name in NAMES or _OF_NETWORKS.fullmatch(name) is not None


def nearest(name: str) -> str:
    """Return the name of a setting that is spelled most like this one."""
    upper = name.upper()
    return max(sorted(NAMES), key=lambda known: difflib.SequenceMatcher(None, upper, known).ratio())


def left_out(environment: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the settings of services that stand in an environment and are not given otherwise, in order."""
    return sorted(name for name in environment if name.startswith(_PREFIXES) and is_known(name) and name not in names)
