"""The payer that is there to be broken does what a payer must (10.2, 10.3)."""

from __future__ import annotations

import json
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from reference.protocol.canonical_json import JsonValue
from reference.protocol.hashes import request_hash
from reference.variants.mutants.edit_mutants import load_mutants
from reference.variants.payer.call import is_not_yet, read_wait
from reference.variants.payer.http_call import Answer
from reference.variants.payer.lanes import Payment
from reference.variants.payer.offer import choose_offer
from reference.variants.payer.proof_store import Record, open_store
from reference.variants.payer.settings import Refused, Settings

NETWORK, ASSET = "eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
BODY: JsonValue = {"network": "base_mainnet"}
HASH = request_hash(body=BODY, path="/pay/v1/x", query="", service_id="x")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return the settings of a call on an EVM chain."""
    url, body = "http://127.0.0.1:1/pay/v1/x", json.dumps(BODY).encode()
    node, key = "http://127.0.0.1:2", "0x" + "1" * 64
    return Settings(url, "POST", body, "base", NETWORK, ASSET, node, "", key, 100, 1.0, tmp_path)


def offer(**members: Any) -> Answer:
    """Return a 402 with one offer, with members changed."""
    token = f"{int(time.time())}:0011223344556677:{'ab' * 32}"
    entry = {
        "network": NETWORK,
        "asset": ASSET.lower(),
        "payTo": "0x" + "1" * 40,
        "amount": "100",
        "maxAmountRequired": "100",
        "maxTimeoutSeconds": 1800,
        "extra": {"payment_reference": token, "request_hash": HASH, "service_id": "x"},
        **members,
    }
    return Answer(402, {}, json.dumps({"accepts": [{"network": "unknown:1"}, None, entry]}).encode())


def test_an_offer_that_keeps_every_rule_is_chosen(settings: Settings) -> None:
    """Unknown entries and the case of a contract's address do not matter."""
    assert choose_offer(settings, offer())["maxAmountRequired"] == "100"


@pytest.mark.parametrize(
    "members",
    [
        {"network": "eip155:84532"},
        {"asset": "0x" + "2" * 40},
        {"maxAmountRequired": "101", "amount": "101"},
        {"maxAmountRequired": "-1", "amount": "-1"},
        {"maxAmountRequired": "1e1", "amount": "1e1"},
        {"amount": "1"},
        {"payTo": "0x" + "1" * 39},
        {"payTo": None},
        {"extra": {}},
        {"extra": {"payment_reference": "t", "request_hash": "sha256:" + "0" * 64, "service_id": "x"}},
        {"extra": {"payment_reference": "1700000000:0011223344556677:ab"}},
    ],
)
def test_an_offer_that_breaks_one_rule_is_refused(settings: Settings, members: dict[str, Any]) -> None:
    """With one member changed, nothing is chosen."""
    with pytest.raises(Refused):
        choose_offer(settings, offer(**members))


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (402, "tx_not_found", True),
        (402, "payment_required", False),
        (408, None, True),
        (409, "payment_in_progress", True),
        (409, "payment_already_spent", False),
        (409, "payment_refunded", False),
        (425, None, True),
        (429, None, True),
        (503, "busy", True),
        (400, None, False),
        (307, None, False),
    ],
)
def test_only_not_yet_is_repeated(status: int, code: str | None, *, expected: bool) -> None:
    """A final refusal ends the call."""
    assert is_not_yet(Answer(status, {}, json.dumps({"error": code}).encode())) is expected


def test_retry_after_is_read_in_both_forms() -> None:
    """Seconds or a date; a second without either."""
    assert read_wait(Answer(503, {"retry-after": "7"}, b"")) == 7.0
    assert 50 < read_wait(Answer(503, {"retry-after": formatdate(time.time() + 60, usegmt=True)}, b"")) <= 60
    assert read_wait(Answer(503, {"retry-after": "soon"}, b"")) == read_wait(Answer(503, {}, b"")) == 1.0


def test_a_stored_payment_is_found_again_by_its_owner_only(settings: Settings) -> None:
    """Until it is removed."""
    record = Record({"payTo": "x"}, Payment({"tx_id": "t"}, "c2lnbmVk"))
    with open_store(settings) as store:
        assert store.read() is None
        store.write(record)
    with open_store(settings) as store:
        assert store.read() == record
        assert store.path.stat().st_mode & 0o077 == 0
        store.remove()
        assert store.read() is None


def test_its_mutants_are_put_under_test() -> None:
    """Each mutant of the payer is an edit of its module."""
    assert [one.id for one in load_mutants() if one.surface == "variants.payer"]
