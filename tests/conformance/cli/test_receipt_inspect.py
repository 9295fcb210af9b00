"""`weldproof receipt inspect`: what it says of receipts, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conformance.cli import main
from tests.conformance.receipts.offline.signed_receipts import HEADER, PAYABLE, SIGNER, sign_receipt, write_all


def run_command(*words: object, stdin: bytes = b"") -> Result:
    """Run the command; only its own ending is allowed to end it."""
    result = CliRunner().invoke(main, ["receipt", "inspect", *(str(word) for word in words)], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Receipts and what they bind, as files."""
    return write_all(tmp_path)


def test_a_receipt_is_explained_and_nothing_is_verified(files: Path) -> None:
    """The warning stands before and after; every member has its line."""
    result = run_command(files / "receipt.jws")
    assert result.exit_code == 0
    assert result.stdout.startswith("NOTHING IS VERIFIED HERE")
    assert result.stdout.endswith("Nothing above is verified.\n")
    for name in (*HEADER, *PAYABLE):
        assert f"\n  {name} = " in result.stdout


def test_every_receipt_of_a_document_is_explained_or_the_one_at_a_place(files: Path) -> None:
    """Named by their places; - is standard input."""
    both_receipts = run_command(files / "answer.json").stdout
    assert "receipt.jws: payable receipt" in both_receipts
    assert "screening.receipt: compliance receipt" in both_receipts
    data = (files / "answer.json").read_bytes()
    one_receipt = run_command("-", "--at", "screening.receipt", stdin=data).stdout
    assert "screening.receipt: compliance receipt" in one_receipt
    assert "payable" not in one_receipt.splitlines()[2]


def test_a_malformed_receipt_ends_with_1_and_is_shown_all_the_same(files: Path) -> None:
    """What is wrong, and what can be read."""
    result = run_command("-", stdin=sign_receipt(PAYABLE).rpartition(".")[0].encode())
    assert result.exit_code == 1
    assert "it has 2 segments" in result.stdout
    assert "service_id = receipt-verify" in result.stdout
    assert run_command(files / "answer.json", "--at", "result.verified").exit_code == 2


def test_json_has_name_value_sentence_and_clause(files: Path) -> None:
    """Nothing else is on standard output."""
    document = json.loads(run_command(files / "receipt.jws", "--json").stdout)
    assert document["verified"] is None
    (receipt,) = document["receipts"]
    assert (receipt["well_formed"], receipt["kind"], receipt["canonical"]) == (True, "payable", True)
    assert {line["name"]: line["value"] for line in receipt["claims"]} == PAYABLE
    assert all(set(line) == {"name", "value", "sentence", "clause"} for line in receipt["header"])


def test_a_page_is_written(files: Path) -> None:
    """Beside what is printed."""
    result = run_command(files / "receipt.jws", "--html", files / "page.html")
    assert result.exit_code == 0
    assert "Explained, not verified" in (files / "page.html").read_text("utf-8")
    assert run_command(files / "receipt.jws", "--html", files / "no" / "page.html").exit_code == 2


def test_a_receipt_does_not_drive_the_terminal() -> None:
    """Escape sequences and direction marks are shown as escapes, lone surrogates too."""
    token = SIGNER.sign(HEADER, json.dumps({"service_id\u001b[2J": "\u202e\ud800\u001b]0;x\u0007"}).encode())
    for options in ((), ("--json",)):
        result = run_command("-", *options, stdin=token.encode())
        assert result.exit_code == 1
        assert "\x1b" not in result.stdout
        assert "\x07" not in result.stdout


@pytest.mark.parametrize("data", [b"", b"{", b'{"a": "b"}', b'["x"]'])
def test_an_input_without_a_receipt_is_a_fault_of_usage(data: bytes) -> None:
    """Exit code 2, with the reason on standard error."""
    result = run_command("-", stdin=data)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: -: ")


def test_a_file_that_is_not_there_is_a_fault_of_usage(tmp_path: Path) -> None:
    """Exit code 2."""
    assert run_command(tmp_path / "none").exit_code == 2
    assert run_command(tmp_path).exit_code == 2
