"""`weldproof receipt verify`: keys, hashes, and how it ends."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conformance.cli import main
from tests.conformance.receipts.offline.served_documents import serve_documents
from tests.conformance.receipts.offline.signed_receipts import (
    DID,
    DID_KEY,
    HEX,
    NETWORK,
    OTHER_SIGNER,
    PAYABLE,
    PAYER,
    REQUEST,
    TX_ID,
    did_document,
    sign_receipt,
    write_all,
)

KEY = ("--key-hex", HEX)


def run_command(*words: object, stdin: bytes = b"") -> Result:
    """Run the command; only its own ending is allowed to end it."""
    result = CliRunner().invoke(main, ["receipt", "verify", *(str(word) for word in words)], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def verify_as_json(*words: object, stdin: bytes = b"") -> Any:
    """Return the one receipt of the command's JSON."""
    return json.loads(run_command(*words, "--json", stdin=stdin).stdout)["receipts"][0]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Receipts and what they bind, as files."""
    return write_all(tmp_path)


@pytest.mark.parametrize(
    "source",
    [
        ("--jwks", "jwks.json"),
        ("--did-document", "did.json"),
        ("--key-file", "key.jwk"),
        ("--key-file", "public.pem"),
        ("--key-hex", HEX),
        ("--did", DID_KEY),
    ],
)
def test_a_receipt_verifies_under_a_key_from_anywhere(files: Path, source: tuple[str, str]) -> None:
    """Files, hex and did:key; exit code 0; all nine steps are shown."""
    name, value = source
    result = run_command(files / "receipt.jws", name, files / value if (files / value).exists() else value)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("verified  payable receipt")
    assert result.stdout.count(" pass ") >= 9
    assert "TAMPERED_SIGNATURE" not in result.stdout, "the code of a failure beside a step that passes"


def test_another_key_does_not_verify_it(files: Path) -> None:
    """Exit code 1, the code, and the steps after the one that failed are skipped."""
    result = run_command(files / "receipt.jws", "--key-hex", OTHER_SIGNER.raw.hex())
    assert result.exit_code == 1
    assert result.stdout.startswith("NOT VERIFIED")
    assert "TAMPERED_SIGNATURE: " in result.stdout
    assert result.stdout.count(" skipped ") == 5


def test_without_a_key_the_did_is_told_and_not_trusted(files: Path) -> None:
    """Usage, with the option that says whom the verifier trusts."""
    result = run_command(files / "receipt.jws")
    assert result.exit_code == 2
    assert DID in result.stderr
    assert "--did" in result.stderr


def test_keys_are_fetched_and_the_issuer_is_judged(files: Path) -> None:
    """A did:web of this machine, a key set by its address; who answers otherwise ends with 3."""
    answers: dict[str, tuple[int, dict[str, str], bytes]] = {"/jwks": (200, {}, (files / "jwks.json").read_bytes())}
    with serve_documents(answers) as port:
        did = f"did:web:localhost%3A{port}"
        answers["/.well-known/did.json"] = (200, {}, json.dumps(did_document(did)).encode())
        answers["/bad/did.json"] = (200, {}, b"{}")
        answers["/moved"] = (301, {"Location": "/jwks"}, b"")
        own = sign_receipt({**PAYABLE, "iss": did, "provider_did": did}).encode()
        assert run_command("-", "--did", did, stdin=own).exit_code == 0
        foreign = verify_as_json(files / "receipt.jws", "--did", did)
        assert (foreign["error_code"], foreign["issuer"]["result"]) == ("ISSUER_DIFFERS", "fail")
        assert run_command(files / "receipt.jws", "--jwks", f"http://localhost:{port}/jwks").exit_code == 0
        for source in (
            ("--did", f"{did}:bad"),
            ("--did", f"{did}:none"),
            ("--jwks", f"http://localhost:{port}/moved"),
            ("--jwks", f"http://localhost:{port}/bad/did.json"),
        ):
            result = run_command(files / "receipt.jws", *source)
            assert (result.exit_code, result.stdout) == (3, "")
            assert result.stderr.startswith("weldproof receipt verify: ")


def test_every_hash_is_recomputed_from_files(files: Path) -> None:
    """Request, answer, payment, challenge token and payer, over all receipts of an answer."""
    result = run_command(
        files / "answer.json",
        *("--jwks", files / "jwks.json"),
        *("--request", files / "request.json", "--response", files / "answer.json"),
        *("--settlement", TX_ID, "--payer", PAYER, "--network", "eip155:8453"),
        *("--payment-reference-file", files / "token"),
        *("--expected-payment-hash", PAYABLE["settled_payment_ref"]),
    )
    assert result.exit_code == 0, result.stdout
    for claim in ("request_hash", "response_hash", "settled_payment_ref", "payment_hash", "payer_ref"):
        assert f"{claim} is what was recomputed" in result.stdout
    assert "payment_reference_hash" in result.stdout


@pytest.mark.parametrize(
    "options",
    [
        ("--path", "/pay/v1/verify/receipt"),
        ("--path", "https://rail.example/edge/pay/v1/verify/receipt", "--service-id", "receipt-verify"),
        ("--path", "/pay/v1/verify/receipt", "--method", "POST", "--query", ""),
    ],
)
def test_a_body_as_it_was_sent_needs_its_path(files: Path, options: tuple[str, ...]) -> None:
    """A path or an address; from /pay/ on it is what the receipt binds."""
    assert run_command(files / "receipt.jws", *KEY, "--request", files / "body.json", *options).exit_code == 0


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--request", "body.json", "--path", "/pay/v1/verify/receipt?a=1"), "request_hash_differs"),
        (("--request", "body.json", "--path", "/pay/v1/other"), "request_hash_differs"),
        (("--request", "request.json", "--method", "GET"), "request_hash_differs"),
        (("--request", "request.json", "--service-id", "other"), "request_hash_differs"),
        (("--response", "request.json"), "response_hash_differs"),
        (("--settlement", TX_ID, "--network", "base_sepolia"), "settled_payment_ref_differs"),
        (("--settlement", "0x12", "--network", NETWORK), "settled_payment_ref_differs"),
        (("--settlement", TX_ID, "--network", NETWORK, "--service-word", "Acme"), "settled_payment_ref_differs"),
        (("--payment-reference-file", "body.json"), "payment_reference_hash_differs"),
        (("--payer", PAYER, "--network", NETWORK), "payer_ref_differs"),
        (("--expected-payment-hash", "sha256:00"), "PAYMENT_HASH_MISMATCH"),
    ],
)
def test_what_differs_ends_with_1_and_its_code(files: Path, options: tuple[str, ...], code: str) -> None:
    """Both values are in the JSON."""
    words = [str(files / word) if word.endswith(".json") else word for word in options]
    assert run_command(files / "receipt.jws", *KEY, *words).exit_code == 1
    report = verify_as_json(files / "receipt.jws", *KEY, *words)
    assert (report["verified"], report["error_code"]) == (False, code)
    for one in report["bindings"]:
        assert set(one) == {"claim", "code", "clause", "outcome", "claimed", "computed", "recipe"}


def test_another_recipe_is_named_and_accepted_on_demand(files: Path) -> None:
    """A receipt whose request_hash is that of the raw body."""
    raw = (files / "body.json").read_bytes()
    token = sign_receipt({**PAYABLE, "request_hash": f"sha256:{hashlib.sha256(raw).hexdigest()}"}).encode()
    options = ("--request", files / "body.json", "--path", REQUEST["path"])
    report = verify_as_json("-", *KEY, *options, stdin=token)
    assert (report["error_code"], report["bindings"][0]["recipe"]) == ("request_hash_differs", "raw-body")
    assert "matches by the recipe raw-body, not the profile's" in run_command("-", *KEY, *options, stdin=token).stdout
    assert run_command("-", *KEY, *options, "--any-recipe", stdin=token).exit_code == 0


@pytest.mark.parametrize(
    "options",
    [
        (*KEY, "--did", DID),
        ("--key-hex", "00"),
        ("--did", "did:web:127.0.0.1"),
        ("--did", "did:key:zzz"),
        ("--did", DID + "%3A1"),
        ("--jwks", "http://a.example/jwks.json"),
        ("--jwks", "did.json"),
        ("--jwks", "none.json"),
        ("--did-document", "jwks.json"),
        ("--key-file", "jwks.json"),
        (*KEY, "--settlement", TX_ID),
        (*KEY, "--network", NETWORK),
        (*KEY, "--service-word", "x"),
        (*KEY, "--path", "/pay/v1/x"),
        (*KEY, "--request", "body.json"),
        (*KEY, "--request", "receipt.jws", "--path", "/pay/v1/x"),
        (*KEY, "--request", "none.json"),
        (*KEY, "--request", "body.json", "--path", "/pay/v1/x?a=1", "--query", ""),
        (*KEY, "--request", "request.json", "--path", "http://[/pay/v1/x"),
        (*KEY, "--response", "receipt.jws"),
        (*KEY, "--at", "receipt"),
    ],
)
def test_what_cannot_be_used_is_a_fault_of_usage(files: Path, options: tuple[str, ...]) -> None:
    """Exit code 2, nothing on standard output."""
    words = [str(files / word) if word.endswith((".json", ".jws")) and "/" not in word else word for word in options]
    result = run_command(files / "receipt.jws", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Error: " in result.stderr


def test_json_bears_the_report_of_the_profile(files: Path) -> None:
    """The members of 2.4 with the nine checks; unsigned members are empty."""
    report = verify_as_json(files / "receipt.jws", *KEY)
    assert (report["verified"], report["error_code"], report["receipt_kind"]) == (True, None, "payable")
    assert [check["result"] for check in report["checks"]] == ["pass"] * 9
    assert len(report["content_hash"]) == 64
    forged_report = verify_as_json(files / "receipt.jws", "--key-hex", OTHER_SIGNER.raw.hex())
    assert (forged_report["claims"], forged_report["content_hash"], forged_report["kid"]) == (
        {},
        None,
        "56475aa75463474c0285df5dbf2bcab7",
    )


def test_one_bad_receipt_of_several_fails_the_whole() -> None:
    """Each is reported by its place."""
    document = {"good": sign_receipt(PAYABLE), "bad": sign_receipt(PAYABLE, by=OTHER_SIGNER)}
    result = run_command("-", *KEY, stdin=json.dumps(document).encode())
    assert result.exit_code == 1
    assert "good: verified" in result.stdout
    assert "bad: NOT VERIFIED" in result.stdout
    assert run_command("-", *KEY, "--at", "good", stdin=json.dumps(document).encode()).exit_code == 0


def test_a_page_shows_the_checks(files: Path) -> None:
    """With the verdict as its heading."""
    assert run_command(files / "receipt.jws", *KEY, "--html", files / "page.html").exit_code == 0
    assert "<strong>Verified</strong>" in (files / "page.html").read_text("utf-8")


def test_a_did_of_another_method_is_told_which_ones_there_are(files: Path) -> None:
    """Exit code 2, before anything is asked."""
    result = run_command(files / "receipt.jws", "--did", "did:ion:EiA")
    assert (result.exit_code, "only did:web:HOST and did:key" in result.output) == (2, True), result.output
