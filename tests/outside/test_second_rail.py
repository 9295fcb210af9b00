"""The suite judges a rail in Node.js that was written from the specification alone, and that rail keeps its word."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from algosdk.transaction import AssetTransferTxn

from conformance.ledger import load
from tests.algorand_signing import signed_by
from tests.outside.sides import AlgorandSide
from tools.mutants.second import rail_servers as second_rail
from tools.mutants.second.suite_verdicts import verdicts

# What the other lanes' rows say; every other row of a rail applies and passes.
OF_OTHER_LANES = {
    *("RAIL-LANE-02", "RAIL-LANE-03", "RAIL-LANE-04", "RAIL-LANE-05"),
    *("RAIL-PAY-03", "RAIL-PAY-04", "RAIL-PAY-12", "RAIL-PAY-13", "RAIL-PAY-14"),
    *("RAIL-WELD-03", "RAIL-WELD-04"),
}
# Of options and of the specification, which it does not claim.
NOT_CLAIMED = {
    *("RAIL-402-22", "RAIL-402-23", "RAIL-PAY-17"),
    *(row.id for row in load().select(["RAIL"]) if row.option == "specification"),
}
PATH = "/pay/v1/compliance/receipt"
BODY = {"recipient_address": "screen-flag", "network": "algorand_mainnet"}


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """The ready line of a simulated Algorand."""
    with second_rail.chain(tmp_path_factory.mktemp("second")) as ready:
        yield ready


@pytest.mark.slow
def test_every_row_of_a_rail_passes(chain: Mapping[str, str], tmp_path: Path) -> None:
    """Every row passes, X-OAS-01 among them, but those of lanes and of an option that it lacks."""
    with second_rail.rail(chain, second_rail.SOURCE, tmp_path / "rail") as profile:
        row_verdicts = verdicts(profile, "RAIL", "X-OAS-01")
    assert {row for row, verdict in row_verdicts.items() if verdict == "not_applicable"} == OF_OTHER_LANES | NOT_CLAIMED
    judged_rows = row_verdicts.keys() - OF_OTHER_LANES - NOT_CLAIMED
    assert {row: verdict for row, verdict in row_verdicts.items() if row in judged_rows and verdict != "pass"} == {}
    assert "X-OAS-01" in judged_rows
    assert len(judged_rows) >= 90


def test_a_killed_rail_charges_once(chain: Mapping[str, str], tmp_path: Path) -> None:
    """After a kill the proof gets its stored answer; where the answer was not stored yet it is served, and once."""
    # A folder whose name is longer than that of a socket can be.
    folder = tmp_path / ("rail-" + 120 * "x")
    with second_rail.rail(chain, second_rail.SOURCE, folder) as profile:
        status, challenge, _ = _call(profile, BODY)
        assert status == 402
        proof = _pay_entry(chain, challenge["accepts"][0], tmp_path / "payer.key")
        status, first, _ = _call(profile, BODY, proof)
        assert status == 200
    with second_rail.rail(chain, second_rail.SOURCE, folder) as profile:
        status, again, headers = _call(profile, BODY, proof)
        assert (status, again, headers["Idempotent-Replayed"]) == (200, first, "true")
        assert _call(profile, {**BODY, "recipient_address": "screen-block"}, proof)[0] == 409
    # As if the kill had come after the payment was noted and in the middle of noting the answer.
    ledger = folder / "data" / "ledger.jsonl"
    *before, last = ledger.read_bytes().splitlines(keepends=True)
    assert [json.loads(line)["state"] for line in (*before, last)] == ["paid", "spent"]
    ledger.write_bytes(b"".join(before) + last[: len(last) // 2])
    with second_rail.rail(chain, second_rail.SOURCE, folder) as profile:
        status, anew, headers = _call(profile, BODY, proof)
        assert (status, headers["Idempotent-Replayed"]) == (200, None)
        assert _payment_of(anew) == _payment_of(first)
        status, stored_status, headers = _call(profile, BODY, proof)
        assert (status, stored_status, headers["Idempotent-Replayed"]) == (200, anew, "true")


def test_one_process_has_a_ledger(chain: Mapping[str, str], tmp_path: Path) -> None:
    """A second rail over the same data does not start: it would not see what the first one sold."""
    with (
        second_rail.rail(chain, second_rail.SOURCE, tmp_path),
        pytest.raises(RuntimeError, match="did not answer"),
        second_rail.rail(chain, second_rail.SOURCE, tmp_path),
    ):
        pass


def _call(
    profile: Path, body: Mapping[str, Any], proof: Mapping[str, str] | None = None
) -> tuple[int, Any, Message[str, str]]:
    """Return status, body and headers of one call."""
    address = next(line for line in profile.read_text("utf-8").splitlines() if line.startswith("url = "))
    headers = {"Content-Type": "application/json"}
    if proof is not None:
        headers["X-PAYMENT"] = base64.b64encode(json.dumps(proof).encode()).decode()
    request = urllib.request.Request(address.split('"')[1] + PATH, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer), answer.headers
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.load(refused), refused.headers


def _pay_entry(chain: Mapping[str, str], entry: Mapping[str, Any], key_file: Path) -> dict[str, str]:
    """Pay an entry of `accepts` as its binding says and return the proof."""
    side = AlgorandSide(dict(chain))
    address = side.new_payer(key_file)
    token = entry["extra"]["payment_reference"]
    parameters = side.algod.suggested_params()
    amount = int(entry["maxAmountRequired"])
    transfer = AssetTransferTxn(address, parameters, entry["payTo"], amount, int(entry["asset"]), note=token.encode())
    return {
        "tx_id": side.algod.send_transaction(signed_by(key_file.read_text("ascii"), transfer)),
        "payment_reference": token,
    }


def _payment_of(answer: Mapping[str, Any]) -> str:
    """Return the settled payment that a receipt is about."""
    claims = answer["payable_receipt"].split(".")[1]
    return str(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["settled_payment_ref"])
