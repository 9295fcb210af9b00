"""`weldproof receipt diff`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conformance.cli.receipt.diff import command
from tests.conformance.receipts.written_receipts import (
    ATTESTATION,
    COMPLIANCE,
    HEADER,
    PAYABLE,
    change_claims,
    segment,
    token,
)

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b[2J</title>"


def write_document(folder: Path, name: str, content: str | Mapping[str, Any] | list[Any]) -> str:
    """Write a file: text as it is, anything else as JSON."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return str(path)


def diff(*words: str, stdin: str | None = None) -> Result:
    """Run the command."""
    return CliRunner().invoke(command, list(words), input=stdin)


@pytest.fixture
def left_file(tmp_path: Path) -> str:
    """Return the file of a payable receipt."""
    return write_document(tmp_path, "left.jws", token(PAYABLE) + "\n")


def test_receipts_without_a_difference_that_matters_exit_0(tmp_path: Path, left_file: str) -> None:
    """With another issuer, payment and time, every difference is expected: exit 0, each listed with its reason."""
    other_claims = change_claims(
        PAYABLE, iss="did:web:acme.example", iat=1_790_000_100, settled_payment_ref="sha256:" + "9" * 64
    )
    result = diff(left_file, write_document(tmp_path, "right.jws", token(other_claims)))
    assert result.exit_code == 0, result.output
    assert "No difference matters" in result.output
    assert "expected  iss" in result.output
    assert "did:web:acme.example" in result.output
    assert "Two payments have two references." in result.output
    assert "MATTERS" not in result.output.upper().replace("NO DIFFERENCE MATTERS", "")


def test_a_difference_that_matters_exits_1(tmp_path: Path, left_file: str) -> None:
    """Another price for the same call: exit 1, and only that claim is reported as significant."""
    result = diff(
        left_file, write_document(tmp_path, "right.jws", token(change_claims(PAYABLE, amount_microunits="20000")))
    )
    assert result.exit_code == 1, result.output
    assert "1 difference matters" in result.output
    assert "matters   amount_microunits" in result.output


def test_the_same_payment_is_held_to_its_claims(tmp_path: Path, left_file: str) -> None:
    """With --same-payment another payment's reference matters, which it does not without."""
    right = write_document(
        tmp_path, "right.jws", token(change_claims(PAYABLE, settled_payment_ref="sha256:" + "9" * 64))
    )
    assert diff(left_file, right).exit_code == 0
    assert diff("--same-payment", left_file, right).exit_code == 1
    assert diff("--same-payment", left_file, left_file).exit_code == 0


def test_stated_recipes_excuse_two_request_hashes(tmp_path: Path, left_file: str) -> None:
    """Two hashes of the same request matter until two recipes are stated; the same recipe twice is no excuse."""
    right = write_document(tmp_path, "right.jws", token(change_claims(PAYABLE, request_hash="sha256:" + "9" * 64)))
    assert diff(left_file, right).exit_code == 1
    assert diff("--request-recipes", "jcs-envelope", "raw-body", left_file, right).exit_code == 0
    assert diff("--request-recipes", "raw-body", "raw-body", left_file, right).exit_code == 1


def test_receipts_of_documents_are_matched_by_kind_and_place(tmp_path: Path) -> None:
    """Two answers with two receipts each, in another order and at other places: like is compared with like."""
    one_document = {"payable_receipt": token(PAYABLE), "settlement_attestation": token(ATTESTATION)}
    other_document = {"settlement_attestation": token(ATTESTATION), "proof": {"receipt": token(PAYABLE)}}
    result = diff(
        "--json", write_document(tmp_path, "a.json", one_document), write_document(tmp_path, "b.json", other_document)
    )
    document = json.loads(result.stdout)
    pairs = {(pair["receipt"], pair["left"], pair["right"], pair["grade"]) for pair in document["pairs"]}
    assert result.exit_code == 0
    assert pairs == {
        ("payable receipt", "payable_receipt", "proof.receipt", "same"),
        ("settlement attestation", "settlement_attestation", "settlement_attestation", "same"),
    }
    assert document["alone"] == []


def test_a_receipt_that_only_one_document_has_is_told(tmp_path: Path) -> None:
    """What has no partner is never left out: it is listed, and exits 1."""
    one_document = {"receipts": [token(PAYABLE), token(COMPLIANCE)]}
    files = (
        write_document(tmp_path, "a.json", one_document),
        write_document(tmp_path, "b.json", {"receipt": token(PAYABLE)}),
    )
    result = diff(*files)
    assert result.exit_code == 1
    assert "only the left document has a compliance receipt at receipts[1]" in result.output
    document = json.loads(diff("--json", *reversed(files)).stdout)
    assert [(one["side"], one["place"], one["kind"]) for one in document["alone"]] == [
        ("right", "receipts[1]", "compliance")
    ]
    assert document["mattering"] == 1


def test_json_tells_every_claim(tmp_path: Path, left_file: str) -> None:
    """The JSON document has every claim, the same ones too, with both values as JSON text."""
    right = write_document(tmp_path, "right.jws", token(change_claims(PAYABLE, iat="1790000000", pay_to=None)))
    result = diff("--json", left_file, right)
    claims = {one["name"]: one for pair in json.loads(result.stdout)["pairs"] for one in pair["claims"]}
    assert result.exit_code == 1
    assert set(PAYABLE) | set(HEADER) | {"canonical form", "kind of receipt"} == set(claims)
    assert (claims["iat"]["left"], claims["iat"]["right"]) == ("1790000000", '"1790000000"')
    assert claims["iat"]["grade"] == "matters"
    assert (claims["pay_to"]["right"], claims["pay_to"]["grade"]) == (None, "expected")


def test_one_side_may_come_from_standard_input(left_file: str) -> None:
    """A dash reads standard input, for one side only."""
    assert diff(left_file, "-", stdin=token(PAYABLE)).exit_code == 0
    assert diff("-", "-", stdin=token(PAYABLE)).exit_code == 2


@pytest.mark.parametrize("content", ["", "nonsense", '{"a": 1}', "e30.e30", "e30.W10.AA"])
def test_what_holds_no_receipt_exits_2(tmp_path: Path, left_file: str, content: str) -> None:
    """A file without a readable receipt is a fault of usage, reported with a reason."""
    result = diff(left_file, write_document(tmp_path, "right", content))
    assert result.exit_code == 2
    assert "Error:" in result.output


def test_a_file_that_is_not_there_exits_2(tmp_path: Path, left_file: str) -> None:
    """A file that cannot be read, or a page that cannot be written, exits 2."""
    assert diff(left_file, str(tmp_path / "none")).exit_code == 2
    assert diff(left_file, left_file, "--html", str(tmp_path / "none" / "page.html")).exit_code == 2


class _Page(HTMLParser):
    """Collects the elements of a page, their attributes, and the text outside of the style."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_shows_both_columns_and_obeys_no_claim(tmp_path: Path) -> None:
    """Markup, script, control and direction characters in claims, names and places stay text; nothing is loaded."""
    hostile_document = {
        HOSTILE: token(change_claims(PAYABLE, iss=HOSTILE, **{HOSTILE: HOSTILE}), {**HEADER, HOSTILE: HOSTILE})
    }
    page = tmp_path / "page.html"
    files = write_document(tmp_path, "a.json", hostile_document), write_document(tmp_path, "b.jws", token(PAYABLE))
    assert diff(*files, "--html", str(page)).exit_code == 0
    text = page.read_text("utf-8")
    parsed = _Page()
    parsed.feed(text)
    assert not {tag for tag, _ in parsed.elements} & {"script", "img", "link", "iframe", "object", "a"}
    assert not {name for _, attributes in parsed.elements for name in attributes} & {"src", "href", "onerror", "srcset"}
    assert "<script>alert(1)</script>" in parsed.text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "default-src 'none'" in text
    assert "did:web:localhost%3A8402" in parsed.text
    assert "Only the left one has it." in parsed.text


def test_a_control_of_the_page_test_can_fail() -> None:
    """The same reading of a page finds markup where it is not escaped."""
    page = _Page()
    page.feed(f"<p>{HOSTILE}</p>")
    assert {"script", "img"} <= {tag for tag, _ in page.elements}


def test_the_console_shows_no_control_characters(tmp_path: Path) -> None:
    """What a claim holds is shown as text, never as commands of a terminal; a lone surrogate is shown, too."""
    hostile = change_claims(PAYABLE, iss=HOSTILE, **{HOSTILE: "\ud800"})
    left_receipt, right = (
        write_document(tmp_path, name, token(claims, canonical=False))
        for name, claims in (("a", PAYABLE), ("b", hostile))
    )
    result = diff(left_receipt, right, "--html", str(tmp_path / "page.html"))
    assert result.exit_code == 0
    assert "\\ud800" in result.output
    assert diff("--json", left_receipt, right).exit_code == 0
    assert "\x1b" not in result.output
    assert "\u202e" not in result.output


def signed_with(text: str, signature: bytes) -> str:
    """Return a receipt with another signature."""
    return f"{text.rpartition('.')[0]}.{segment(signature)}"


def test_two_signatures_of_the_same_bytes_matter(tmp_path: Path, left_file: str) -> None:
    """Ed25519 has one for each key, so that one of the receipts was altered, whatever their claims are."""
    right = write_document(tmp_path, "right.jws", signed_with(token(PAYABLE), b"\2" * 64))
    result = diff(left_file, right)
    assert result.exit_code == 1, result.output
    assert "1 difference matters" in result.output
    assert "matters   signature" in result.output
    assert "at most one of the two holds" in result.output


@pytest.mark.parametrize("signature", [b"\2", b"\2" * 63, b"\2" * 65])
def test_what_is_no_signature_matters_beside_any_claims(tmp_path: Path, left_file: str, signature: bytes) -> None:
    """Claims that may differ do not excuse it."""
    other_receipt = token(change_claims(PAYABLE, iat=1_790_000_100))
    assert diff(left_file, write_document(tmp_path, "good.jws", other_receipt)).exit_code == 0
    result = diff(left_file, write_document(tmp_path, "bad.jws", signed_with(other_receipt, signature)))
    assert result.exit_code == 1, result.output
    assert f"the right, it has {len(signature)} bytes, not 64" in result.output


def test_nobody_takes_a_comparison_for_a_verification(left_file: str) -> None:
    """What did not happen is said where the result is."""
    assert "No difference matters. " in (output := diff(left_file, left_file).output)
    assert output.rstrip().endswith("No signature was verified.")
