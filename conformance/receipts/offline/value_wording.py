"""Values of receipts in words: times, amounts, names of networks and DIDs. Pure."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

from conformance.oracles.receipt_kinds import is_hash_reference
from conformance.vocabulary.network import LOCAL_ENDING
from conformance.vocabulary.networks import Network, network_named

# Whole numbers without leading zeros; 40 digits hold every amount of a chain.
_DIGITS = re.compile(r"0|[1-9][0-9]{0,39}")
_LATEST = 253_402_300_799  # the last second of the year 9999
# Decimals of a price in a receipt (P-MN-01).
_MILLIONTHS = 6


def value_text(value: Any) -> str:
    """Return a JSON value for readers: a text unchanged, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def instant(value: Any, *, per_second: int) -> str | None:
    """Return a count of seconds (1) or milliseconds (1000) since 1970 as a date in UTC; None for anything else."""
    # `datetime` raises for later years, and a receipt can contain any number.
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value // per_second <= _LATEST:
        return None
    text = datetime.fromtimestamp(value // per_second, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{text} UTC" if per_second == 1 else f"{text}.{value % per_second:03} UTC"


def amount(units: Any, decimals: int, unit: str) -> str | None:
    """Return atomic units as a decimal with its unit, such as `8.41 USDC`; None if they are not a whole number."""
    digits = whole_number(units)
    if digits is None:
        return None
    whole, fraction = digits[:-decimals] or "0", digits[-decimals:].rjust(decimals, "0")
    return f"{whole}.{fraction.rstrip('0').ljust(2, '0')} {unit}"


def whole_number(value: Any) -> str | None:
    """Return the digits of a whole number that is not negative, given as number or text; None for anything else."""
    digits = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return digits if isinstance(digits, str) and _DIGITS.fullmatch(digits) else None


def micro_amount(units: Any, unit: str) -> str | None:
    """Return millionths as a decimal with its unit (P-MN-01); None if they are not a whole number."""
    return amount(units, _MILLIONTHS, unit)


def network_words(value: Any) -> str:
    """Return the common name of a network."""
    network = network_named(value)
    if network is None and isinstance(value, str) and value.endswith(LOCAL_ENDING):
        return f"{value}, a private network, where money is worth nothing"
    if network is None:
        return f"{value_text(value)}, which is not a network that this tool knows"
    # Simulated chains carry the names of main networks, so a name alone does not show that real money was paid.
    main = "a main network, with real money, or a simulated chain under its name: only the chain shows which"
    worth = "a test network, where money is worth nothing" if network.is_test else main
    return f"{network.name} ({network.caip2}), {worth}"


def asset_words(value: Any, network: Network | None) -> str:
    """Return an asset by name if it is the USDC of its network."""
    if isinstance(value, str) and network is not None:
        if network.is_asset(value):
            return f"{value}, which is {network.unit} on {network.name}"
        return f"{value}, which is not the {network.unit} of {network.name} that this tool knows"
    return f"{value_text(value)}; without a known network its meaning is unknown"


def did_words(value: Any) -> str:
    """Return a DID with an explanation."""
    if not isinstance(value, str) or not value.startswith("did:"):
        return f"{value_text(value)}, which is not a DID"
    if value.startswith("did:key:"):
        return f"{value}, a key that is its own name"
    if value.startswith("did:web:"):
        host = value.removeprefix("did:web:").split(":")[0].replace("%3A", ":").replace("%3a", ":")
        return f"{value}, whose keys are published at {host}"
    return value


def hash_words(value: Any) -> str:
    """Return a remark on a hash reference's form; empty if the form is right."""
    return "" if is_hash_reference(value) else " It is not of the form sha256: and 64 lower-case hex digits."
