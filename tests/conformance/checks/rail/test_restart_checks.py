"""What the check of a restart makes of rails that remember, and of such that forget."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import PROFILE, Call, Rail, Reply, run_check

CHECK = "a_restart_forgets_no_payment"
OTHER_LANES = dict.fromkeys(("RAIL-PAY-03", "RAIL-PAY-04", "RAIL-PAY-07"), Verdict.NOT_APPLICABLE)


def profile_with(marker: Path) -> str:
    """Return a profile whose restart leaves a file, by which a rail knows that it was started again."""
    words = f'["sh", "-c", "touch {marker}"]'
    return PROFILE.replace("[claims]", f"restart = {words}\n[claims]")


async def judged_over(marker: Path, forgets: str) -> dict[str, Verdict]:
    """Return the verdicts of a rail that forgets something at its restart."""

    def change_reply(call: Call, honest: Reply) -> Reply:
        if call.proof is None or honest.status != 200 or not marker.exists():
            return honest
        if forgets == "redemptions":
            again = rail.sign({"kind": "weldproof/payable-svc-receipt/1", "n": len(rail.calls)})
            return Reply(200, {**honest.document, "payable_receipt": again})
        return rail.challenge(call) if forgets == "tokens" else honest

    def change_keys(call: Call, honest: Reply) -> Reply:
        if marker.exists() and forgets == "keys":
            rail.key = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
        return change_reply(call, honest)

    rail = Rail(change_keys)
    return await run_check(CHECK, rail, profile_with(marker))


@pytest.mark.parametrize(
    ("forgets", "once", "served"),
    [
        ("nothing", Verdict.PASS, Verdict.PASS),
        ("redemptions", Verdict.FAIL, Verdict.PASS),
        ("tokens", Verdict.WARN, Verdict.FAIL),
    ],
)
async def test_what_a_restart_forgets_breaks_its_row(
    forgets: str, once: Verdict, served: Verdict, tmp_path: Path
) -> None:
    """A payment that buys twice, and one that is refused."""
    row_verdicts = await judged_over(tmp_path / "done", forgets)
    in_did = Verdict.PASS if served is Verdict.PASS else Verdict.INCONCLUSIVE  # no receipt of afterwards
    signature_verdicts = {"RAIL-RCPT-02": Verdict.PASS, "RAIL-RCPT-03": in_did}
    assert row_verdicts == {"RAIL-WELD-11": once, "RAIL-PAY-02": served, **OTHER_LANES, **signature_verdicts}


async def test_a_signing_key_that_is_made_anew_breaks_the_row_of_the_key_set(tmp_path: Path) -> None:
    """Receipts from before verify with no key that is published any more; what a DID document keeps is left open."""
    row_verdicts = await judged_over(tmp_path / "done", "keys")
    assert row_verdicts["RAIL-RCPT-02"] is Verdict.FAIL
    assert row_verdicts["RAIL-PAY-02"] is Verdict.PASS


async def test_without_a_command_nothing_is_asked() -> None:
    """Who does not say how the rail is restarted is not judged by it, and pays nothing for it."""
    rail = Rail()
    assert set((await run_check(CHECK, rail)).values()) == {Verdict.NOT_APPLICABLE}
    assert not [call for call in rail.calls if call.proof]


REPRICED = "quotes_outlive_their_prices"


def repriced_profile(marker: Path) -> str:
    """Return a profile with both commands: the file exists while the rail has other prices."""
    words = f'restart = ["sh", "-c", "rm {marker}"]\nreprice = ["sh", "-c", "touch {marker}"]\n[claims]'
    return PROFILE.replace("[claims]", words) + 'specification = "1"\n'


def make_repriced_rail(marker: Path, *, forgets: bool, other_prices: bool = True) -> Rail:
    """Return a rail whose prices change with the file; one that forgets knows no token from before."""
    tokens_before: set[str] = set()

    def change_reply(call: Call, honest: Reply) -> Reply:
        if honest.status == 402:
            entry = honest.document["accepts"][0]
            if marker.exists() and other_prices:
                entry["maxAmountRequired"] = "12500"
            elif not marker.exists():
                tokens_before.add(entry["extra"]["payment_reference"])
        is_old = call.proof is not None and call.proof.get("payment_reference") in tokens_before
        return rail.challenge(call) if forgets and is_old and marker.exists() else honest

    rail = Rail(change_reply)
    return rail


@pytest.mark.parametrize(("forgets", "verdict"), [(False, Verdict.PASS), (True, Verdict.FAIL)])
async def test_a_rail_that_forgets_its_quotes_fails(forgets: bool, verdict: Verdict, tmp_path: Path) -> None:
    """The row is decided by payments before and after the restart, and the old prices are back afterwards."""
    marker = tmp_path / "repriced"
    rail = make_repriced_rail(marker, forgets=forgets)
    assert await run_check(REPRICED, rail, repriced_profile(marker)) == {"RAIL-402-26": verdict}
    assert not marker.exists()


async def test_prices_that_stay_show_nothing(tmp_path: Path) -> None:
    """A command that changes no price leaves the row open."""
    marker = tmp_path / "repriced"
    rail = make_repriced_rail(marker, forgets=False, other_prices=False)
    assert await run_check(REPRICED, rail, repriced_profile(marker)) == {"RAIL-402-26": Verdict.INCONCLUSIVE}


async def test_without_a_command_for_other_prices_nothing_is_asked(tmp_path: Path) -> None:
    """The row is not applicable, and nothing is paid."""
    rail = Rail()
    profile = profile_with(tmp_path / "done") + 'specification = "1"\n'
    assert await run_check(REPRICED, rail, profile) == {"RAIL-402-26": Verdict.NOT_APPLICABLE}
    assert not [call for call in rail.calls if call.proof]
