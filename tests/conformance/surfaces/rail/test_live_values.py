"""Which values of a proof are of their run alone, and stand in its log by name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from conformance.engine.check import Case
from conformance.http.client import Names
from conformance.surfaces.rail.purchase import name_live_values


def list_named_values(**terms: Any) -> str:
    """Return what the log has of a proof's window and nonce."""
    names = Names()
    case = cast("Case", SimpleNamespace(client=SimpleNamespace(names=names)))
    name_live_values(case, {"authorization": terms})
    return names.redact(" ".join(terms.values()))


def test_an_authorization_s_own_values_are_named() -> None:
    assert list_named_values(validBefore="1795657000", nonce="0x" + "ab" * 32) == (
        "$AUTHORIZATION_VALIDBEFORE $AUTHORIZATION_NONCE"
    )


def test_an_end_that_no_clock_shows_is_not() -> None:
    """Other requests have that number, too: whether theirs showed a name would hang on which of the two came first."""
    assert list_named_values(validBefore=str(2**63)) == str(2**63)
