"""`weldproof pay --keep`: what is kept of a paid call is what `receipt verify` recomputes its receipt's hashes from."""

from __future__ import annotations

import base64
import json
import shlex
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.cli import main
from conformance.cli.pay.kept_files import ANSWER, RECEIPT, REQUEST, SETTLEMENT, CallFolder
from conformance.cli.usage import UsageFault
from conformance.discovery.rail import Operation
from conformance.http.client import Answer
from conformance.surfaces.rail.purchase import Challenge, Purchase
from tests.conformance.receipts.offline.signed_receipts import (
    HEX,
    NETWORK,
    PAYABLE,
    RESULT,
    TOKEN,
    TX_ID,
    sign_receipt,
)  # fmt: skip
from tests.conformance.receipts.offline.signed_receipts import (
    REQUEST as SENT,
)

ANSWER_BODY = json.dumps({"result": RESULT, "payable_receipt": sign_receipt(PAYABLE)}, indent=2).encode()
RAIL_REPORT = {"success": True, "transaction": TX_ID, "network": "eip155:8453"}


def make_purchase(*, rail_report: object = RAIL_REPORT, proof: dict[str, Any] | None = None) -> Purchase:
    """Return the paid call that the tests' receipt is of; by default the rail tells its transaction, as on Base."""
    headers = CIMultiDict(
        {"PAYMENT-RESPONSE": base64.b64encode(json.dumps(rail_report).encode()).decode()} if rail_report else {}
    )
    answer = Answer(1, 200, CIMultiDictProxy(headers), ANSWER_BODY)
    operation = Operation("receipt-verify", "http://rail.example" + SENT["path"], SENT["path"], SENT["body"], ())
    extra = {"payment_reference": TOKEN, "service_id": SENT["service_id"]}
    entry = {"network": "eip155:8453", "maxAmountRequired": "10000", "extra": extra}
    return Purchase(Challenge(operation, SENT["body"], answer, (entry,)), "base", proof or {}, answer)


def run_verify(*words: object) -> Result:
    """Run `receipt verify` under the key of the tests."""
    return CliRunner().invoke(main, ["receipt", "verify", *map(str, words), "--key-hex", HEX, "--json"])


def kept_in(folder: Path, call: Purchase) -> CallFolder:
    """Keep a call with its receipt."""
    call_folder = CallFolder.prepare(folder)
    call_folder.keep_call(call, "algorand_mainnet")
    (folder / RECEIPT).write_text(sign_receipt(PAYABLE) + "\n")
    return call_folder


def test_what_is_kept_verifies_whole(tmp_path: Path) -> None:
    """Request, answer, settlement and token hold, with nothing typed; the printed line is that command."""
    folder = tmp_path / "a call"
    line = kept_in(folder, make_purchase()).verification_command(folder / RECEIPT, "https://rail.example/jwks.json")
    assert line is not None
    words = shlex.split(line)
    assert words[:4] == ["weldproof", "receipt", "verify", str(folder / RECEIPT)]
    result = run_verify(*words[3:4], *words[6:])
    assert result.exit_code == 0, result.output
    bindings = json.loads(result.stdout)["receipts"][0]["bindings"]
    assert {one["claim"]: one["outcome"] for one in bindings} == dict.fromkeys(
        ("request_hash", "response_hash", "settled_payment_ref", "payment_reference_hash"), "holds"
    )


@pytest.mark.parametrize(
    ("name", "before", "after", "claim"),
    [
        (REQUEST, '"a.b.c"', '"a.b.d"', "request_hash"),
        (ANSWER, "true", "false", "response_hash"),
        (SETTLEMENT, "base_mainnet", "base_sepolia", "settled_payment_ref"),
        (SETTLEMENT, TOKEN, "another", "payment_reference_hash"),
    ],
)
def test_what_was_changed_since_is_told(tmp_path: Path, name: str, before: str, after: str, claim: str) -> None:
    """Each file is held against the claim that binds it."""
    folder = tmp_path / "kept"
    call_folder = kept_in(folder, make_purchase())
    (folder / name).write_text((folder / name).read_text().replace(before, after))
    words = shlex.split(call_folder.verification_command(folder / RECEIPT, "x") or "")
    result = run_verify(*words[3:4], *words[6:])
    assert result.exit_code == 1
    outcomes = {one["claim"]: one["outcome"] for one in json.loads(result.stdout)["receipts"][0]["bindings"]}
    assert [name for name, outcome in outcomes.items() if outcome == "differs"] == [claim]


def test_the_answer_is_kept_byte_for_byte_and_for_its_owner(tmp_path: Path) -> None:
    """The body is what came, and no other user of the machine can read token and request."""
    folder = tmp_path / "kept"
    kept_in(folder, make_purchase())
    assert (folder / ANSWER).read_bytes() == ANSWER_BODY
    assert json.loads((folder / REQUEST).read_text())["raw_body"] == '{"jws":"a.b.c"}'
    modes = {stat.S_IMODE((folder / name).stat().st_mode) for name in (REQUEST, ANSWER, SETTLEMENT)}
    assert (modes, stat.S_IMODE(folder.stat().st_mode)) == ({0o600}, 0o700)


def test_a_payer_s_own_transaction_needs_no_word_of_the_rail(tmp_path: Path) -> None:
    """On a mined lane the proof names it; if it is named nowhere, nothing is recomputed from it."""
    kept_in(tmp_path / "mined", make_purchase(rail_report=None, proof={"tx_id": TX_ID}))
    assert json.loads((tmp_path / "mined" / SETTLEMENT).read_text())["tx_id"] == TX_ID
    line = kept_in(tmp_path / "untold", make_purchase(rail_report=None)).verification_command(Path("r"), "x")
    assert line is not None
    assert "--settlement" not in line
    assert CallFolder(tmp_path / "nothing").verification_command(Path("r"), "x") is None


def test_a_folder_is_looked_at_before_anything_is_paid(tmp_path: Path) -> None:
    """One that holds a call, is no folder, or cannot be made, is a fault of usage."""
    kept_in(tmp_path / "kept", make_purchase())
    (tmp_path / "file").write_text("")
    for folder, reason in (("kept", "exists already"), ("file", "File exists"), ("file/below", "Not a directory")):
        with pytest.raises(UsageFault, match=reason):
            CallFolder.prepare(tmp_path / folder)


@pytest.mark.parametrize("text", ["[]", "{}", '{"network":"base_mainnet"}', '{"tx_id":1}', '{"tx_id":"x","network":7}'])
def test_a_settlement_file_that_names_no_transaction_is_a_fault_of_usage(tmp_path: Path, text: str) -> None:
    """It is an object of texts, `tx_id` among them; what stands beside it on the command line comes first."""
    (tmp_path / "r.jws").write_text(sign_receipt(PAYABLE))
    (tmp_path / "s.json").write_text(text)
    result = run_verify(tmp_path / "r.jws", "--settlement", f"@{tmp_path / 's.json'}")
    assert result.exit_code == 2
    assert "a JSON object with the text member tx_id" in result.output
    (tmp_path / "s.json").write_text(json.dumps({"tx_id": TX_ID, "network": "solana_mainnet"}))
    given = run_verify(tmp_path / "r.jws", "--settlement", f"@{tmp_path / 's.json'}", "--network", NETWORK)
    assert given.exit_code == 0


@pytest.mark.parametrize("words", [("--keep", "kept"), ("--receipt", "r.jws")])
def test_a_checkout_page_gives_nothing_to_keep(tmp_path: Path, words: tuple[str, str]) -> None:
    """That is reported before anything is paid, and so is a place that does not exist."""
    profile = tmp_path / "weldproof.toml"
    profile.write_text('[surfaces.rail]\nurl = "http://127.0.0.1:1"\n')
    option, name = words
    arguments = ["pay", "http://127.0.0.1:1/checkout/abcdefgh", "--config", str(profile), option, str(tmp_path / name)]
    result = CliRunner().invoke(main, arguments)
    assert (result.exit_code, "a checkout page returns no receipt" in result.output) == (2, True), result.output
    assert not (tmp_path / name).exists()
    nowhere = ["pay", "http://127.0.0.1:1/pay/v1/x", "--config", str(profile), option, f"{profile}/below/{name}"]
    assert CliRunner().invoke(main, nowhere).exit_code == 2


def test_a_private_network_is_kept_by_its_key(tmp_path: Path) -> None:
    """No table lists the CAIP-2 name of a private network, so the key comes from the profile."""
    call = make_purchase()
    entry = {**call.challenge.entry("base"), "network": "algorand:0123456789abcdefghijklmnopqrstuv"}
    call = replace(call, challenge=replace(call.challenge, accepts=(entry,)), lane="algorand")
    CallFolder.prepare(tmp_path).keep_call(call, "algorand_localnet")
    assert json.loads((tmp_path / SETTLEMENT).read_text())["network"] == "algorand_localnet"
