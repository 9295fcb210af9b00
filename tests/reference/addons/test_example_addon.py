"""The addon in a page does what its page says."""

from __future__ import annotations

import runpy
from pathlib import Path

import httpx
import pytest

from reference.addons.kit import Addon
from tests.reference.addons.conftest import ISSUER, Opener

PAGE = Path(__file__).parents[3] / "examples" / "addon_in_a_page.py"


@pytest.fixture
def example() -> Addon:
    """The addon that the page defines."""
    return Addon("known-issuers", 8200, runpy.run_path(str(PAGE))["operations"])


async def test_it_tells_who_is_trusted(opener: Opener, example: Addon) -> None:
    """A trusted issuer, a stranger, and no issuer while there is no trust set."""
    client: httpx.AsyncClient = await opener(example)
    answers = [await client.post("/v1/known", json={"did": did}) for did in (ISSUER.did, "did:web:stranger.example")]
    assert [answer.json() for answer in answers] == [{"known": True, "kid": ISSUER.kid}, {"known": False, "kid": None}]
    cut_off: httpx.AsyncClient = await opener(example, None)
    assert (await cut_off.post("/v1/known", json={"did": ISSUER.did})).json() == {"known": None, "kid": None}


async def test_the_kit_does_the_rest(opener: Opener, example: Addon) -> None:
    """Health, and a body that does not fit."""
    client: httpx.AsyncClient = await opener(example)
    assert (await client.get("/health")).json()["issuers"] == 1
    assert (await client.post("/v1/known", json={})).status_code == 422


def test_it_is_a_page() -> None:
    """Someone can read it at once."""
    assert len(PAGE.read_text("utf-8").splitlines()) < 50
