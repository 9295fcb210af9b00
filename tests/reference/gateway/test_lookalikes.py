"""Names that read as Paid in any letters are found, and honest names are not (P-CK-01)."""

from __future__ import annotations

import pytest

from reference.gateway.lookalikes import reads_as_state
from reference.gateway.merchant_branding import Unfit, check_name

READ_AS_PAID = {
    "plain": "Paid",
    "in a sentence": "You have PAID!",
    "one Cyrillic letter": "P\u0430id",
    "whole in Cyrillic": "\u0440\u0430\u0456\u0501",
    "Greek capitals": "\u03a1\u0391\u0399D",
    "full width": "\uff30\uff21\uff29\uff24",
    "mathematical": "\U0001d40f\U0001d41a\U0001d422\U0001d41d",
    "in circles": "\u24c5\u24d0\u24d8\u24d3",
    "on grounds": "\U0001f17f\U0001f170\U0001f178\U0001f173",
    "of flags": "\U0001f1f5\U0001f1e6\U0001f1ee\U0001f1e9",
    "small capitals": "\u1d18\u1d00\u026a\u1d05",
    "Cherokee": "\u13e2\u13aa\u13a5\u13a0",
    "Lisu": "\ua4d1\ua4ee\ua4f2\ua4d3",
    "with marks": "P\u00e1\u0131d\u0323",
    "struck through": "P\u0336a\u0336i\u0336d\u0336",
    "a Turkish capital": "PA\u0130D",
    "a zero width space": "Pa\u200bid",
    "a soft hyphen": "Pa\u00adid",
    "a filler": "Pa\u3164id",
    "an l": "Pald",
    "a digit": "PA1D",
    "a bar": "PA|D",
    "next to a bar": "Paid|Shop",
    "with full stops": "P.A.I.D.",
    "spaced": "P a i d",
    "between underscores": "_paid_",
    "in Canadian syllabics": "\u146d\u15e9I\u15ea",
    "Greek and a differential": "\u03c1\u03b1\u03b9\u2202",
    "a lambda": "P\u039bID",
    "an at sign": "P@ID",
    "a four": "P4ID",
    "an eth": "Pai\u00d0",
    "a thorn": "\u00deaid",
    "a sign of sound recordings": "\u2117aid",
    "a broken bar": "PA\u00a6D",
    "with a trade mark": "PAID\u2122",
    "with a raised two": "Paid\u00b2",
    "a hair space": "Pa\u200aid",
    "after a hair space": "Shop\u200aPaid",
}
HONEST = [
    "",
    "Prepaid phones",
    "Repaid Ltd",
    "Plaid",
    "Laid back",
    "Spa, I'd say",
    "PA ID cards",
    "P4 Media",
    "Plaid\u2122",
    "Caf\u00e9 \u00dcn\u00efcode \u682a\u5f0f\u4f1a\u793e",
    "\u03a0\u03b1\u03b9\u03b4\u03b9\u03ac",
    "\u041f\u0430\u0439\u0434\u0430",
    "\u05d7\u05e0\u05d5\u05ea",
]


@pytest.mark.parametrize("name", READ_AS_PAID.values(), ids=READ_AS_PAID)
def test_a_name_that_reads_as_paid_is_refused(name: str) -> None:
    """Whatever letters it is written in."""
    assert reads_as_state(name)
    with pytest.raises(Unfit):
        check_name(name)


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_name_passes(name: str) -> None:
    """In any script, also where its letters look like those of the word."""
    assert not reads_as_state(name)
    check_name(name)


@pytest.mark.parametrize("control", "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
def test_a_name_turns_no_text(control: str) -> None:
    """It stands between other texts of the page."""
    with pytest.raises(Unfit):
        check_name(f"Shop{control}")
