"""The table `sends.json`: deviations from honest requests that the requests of each check may contain.

A check has the fault sets that its requests may have: `honest`, one fault, or several with ` + ` between them. Several
have the name of a reason why the request decides something nonetheless; so has an honest payment that is refused. A
check that draws its faults from a seed, or has any number of them, has `drawn` instead, and why.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from tools.requests_parsed.capture_parsing import Parsed

FILE: Final = Path(__file__).with_name("sends.json")
HONEST: Final = "honest"
# The fault lies in nothing that was sent: the chain, the clock or the server's own state must hold it.
HONEST_AND_REFUSED: Final = "honest, and refused"
_AND: Final = " + "


def name_of(exchange: Parsed) -> str:
    """Return the name of a check without its lane."""
    return exchange.check.partition("[")[0]


def describe_faults(exchange: Parsed) -> str:
    """Return a request's faults as the table writes them; a payment without one may have been refused."""
    is_refused = exchange.status is not None and exchange.status >= 400 and "payment" in exchange.examined_parts
    return _AND.join(sorted(exchange.faults)) or (HONEST_AND_REFUSED if is_refused else HONEST)


def read() -> dict[str, Any]:
    """Return the table."""
    table: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return table


def findings(exchanges: Iterable[Parsed], table: Mapping[str, Any]) -> dict[str, list[int]]:
    """Return what was sent and is not in the table, `check: faults`, with the exchanges that hold it."""
    places_by_name: dict[str, list[int]] = {}
    for exchange in exchanges:
        entry = table["checks"].get(name_of(exchange), {})
        if "drawn" not in entry and describe_faults(exchange) not in entry.get("sends", {}):
            places_by_name.setdefault(f"{name_of(exchange)}: {describe_faults(exchange)}", []).append(exchange.n)
    return places_by_name


def faults_of(table: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the table: several faults, or none in what is refused, without a reason."""
    return [
        f"{check}: {faults}: no reason"
        for check, entry in table["checks"].items()
        for faults, reason in entry.get("sends", {}).items()
        if (_AND in faults or faults == HONEST_AND_REFUSED) and reason not in table["reasons"]
    ]


def write_table(exchanges: Iterable[Parsed], table: Mapping[str, Any]) -> str:
    """Return the table with what was sent as well, as its file has it; a reader gives what is new its reason."""
    checks = {check: dict(entry) for check, entry in table["checks"].items()}
    for exchange in exchanges:
        entry = checks.setdefault(name_of(exchange), {})
        if "drawn" not in entry:
            entry["sends"] = dict(sorted({describe_faults(exchange): "", **entry.get("sends", {})}.items()))
    whole = {"reasons": table["reasons"], "checks": dict(sorted(checks.items()))}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
