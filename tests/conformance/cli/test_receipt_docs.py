"""docs/receipts.md says what `weldproof receipt` does."""

from __future__ import annotations

import json
import re
from pathlib import Path

from click.testing import CliRunner

from conformance.cli.pay import command as pay
from conformance.cli.receipt.inspect import command as inspect
from conformance.cli.receipt.verify import command as verify
from conformance.oracles.receipt_bindings import bindings
from conformance.oracles.receipts import STEPS
from conformance.receipts.offline.claim_meanings import DIDS
from conformance.receipts.offline.fetching import LARGEST, SECONDS
from conformance.receipts.offline.verifying import ISSUER_DIFFERS
from tests.conformance.receipts.offline.signed_receipts import HEX, write_all

PAGE = (Path(__file__).parents[3] / "docs" / "receipts.md").read_text("utf-8")


def test_its_options_are_those_of_the_commands() -> None:
    """Every option of inspect and verify is on the page, and every option on the page exists."""
    known_options = {option for one in (inspect, verify) for parameter in one.params for option in parameter.opts}
    options_of_pay = set(re.findall(r"(--[a-z][a-z-]+)", " ".join(re.findall(r"weldproof pay\b[^`\n]*", PAGE))))
    assert options_of_pay <= {option for parameter in pay.params for option in parameter.opts}
    options_named = set(re.findall(r"(--[a-z][a-z-]+)", PAGE)) - options_of_pay
    assert {option for option in known_options if option.startswith("--")} == options_named


def test_its_codes_are_those_of_the_verifier() -> None:
    """The nine in their order, the issuer's, and those of the bindings in theirs."""
    given_members = {"request": {}, "response": {}, "settlement": {}, "payment_reference": "", "payer": {}}
    assert re.findall(r"^\| `([A-Z_]+)` \|", PAGE, re.MULTILINE) == list(STEPS)
    assert re.findall(r"`([a-z_]+_differs)`", PAGE) == [one.code for one in bindings({}, given_members)]
    assert f"`{ISSUER_DIFFERS}`" in PAGE


def test_the_members_for_programs_are_those_that_are_printed(tmp_path: Path) -> None:
    """Each table has the members of its command's JSON, no more and no less, and their own members beside them."""
    write_all(tmp_path)
    file = str(tmp_path / "receipt.jws")
    members = (
        ("verified", verify, [file, "--key-hex", HEX, "--request", str(tmp_path / "request.json")]),
        ("inspected", inspect, [file]),
    )
    for title, command, words in members:
        result = CliRunner().invoke(command, [*words, "--json"])
        receipt = json.loads(result.stdout)["receipts"][0]
        table = PAGE.partition(f"| Member of a receipt, {title} |")[2].partition("\n\n")[0]
        rows = [row.split("|") for row in table.splitlines() if row.startswith("| `")]
        assert {name for row in rows for name in re.findall(r"`(\w+)`", row[1])} == set(receipt)
        within = {"header", "claims"} if title == "inspected" else {"key", "checks", "issuer", "bindings"}
        for row in rows:
            for name in within & set(re.findall(r"`(\w+)`", row[1])):
                member = receipt[name][0] if isinstance(receipt[name], list) else receipt[name]
                assert set(member) <= set(re.findall(r"`(\w+)`", row[2])), name


def test_its_bounds_and_claims_are_those_of_the_program() -> None:
    """How long and how much is fetched, and which claims name an issuer."""
    assert f"after {SECONDS:g} seconds or {LARGEST // 1024} KiB" in PAGE
    assert all(f"`{name}`" in PAGE for name in DIDS)
