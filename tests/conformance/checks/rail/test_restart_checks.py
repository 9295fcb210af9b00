"""What the check of a restart makes of rails that remember, and of such that forget."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import PROFILE, Call, Rail, Reply, judged

CHECK = "a_restart_forgets_no_payment"
OTHER_LANES = dict.fromkeys(("RAIL-PAY-03", "RAIL-PAY-04", "RAIL-PAY-07"), Verdict.NOT_APPLICABLE)


def profile_with(done: Path) -> str:
    """Return a profile whose restart leaves a file, by which a rail knows that it was started again."""
    words = f'["sh", "-c", "touch {done}"]'
    return PROFILE.replace("[claims]", f"restart = {words}\n[claims]")


async def judged_over(done: Path, forgets: str) -> dict[str, Verdict]:
    """Return the verdicts of a rail that forgets something at its restart."""

    def changed(call: Call, honest: Reply) -> Reply:
        if call.proof is None or honest.status != 200 or not done.exists():
            return honest
        if forgets == "redemptions":
            again = rail.sign({"kind": "weldproof/payable-svc-receipt/1", "n": len(rail.calls)})
            return Reply(200, {**honest.document, "payable_receipt": again})
        return rail.challenge(call) if forgets == "tokens" else honest

    def published(call: Call, honest: Reply) -> Reply:
        if done.exists() and forgets == "keys":
            rail.key = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
        return changed(call, honest)

    rail = Rail(published)
    return await judged(CHECK, rail, profile_with(done))


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
    """A payment that buys twice, and one that buys nothing."""
    found = await judged_over(tmp_path / "done", forgets)
    in_did = Verdict.PASS if served is Verdict.PASS else Verdict.INCONCLUSIVE  # no receipt of afterwards
    signed = {"RAIL-RCPT-02": Verdict.PASS, "RAIL-RCPT-03": in_did}
    assert found == {"RAIL-WELD-11": once, "RAIL-PAY-02": served, **OTHER_LANES, **signed}


async def test_a_signing_key_that_is_made_anew_breaks_the_row_of_the_key_set(tmp_path: Path) -> None:
    """Receipts from before verify with no key that is published any more; what a DID document keeps is left open."""
    found = await judged_over(tmp_path / "done", "keys")
    assert found["RAIL-RCPT-02"] is Verdict.FAIL
    assert found["RAIL-PAY-02"] is Verdict.PASS


async def test_without_a_command_nothing_is_asked() -> None:
    """Who does not say how the rail is restarted is not judged by it, and pays nothing for it."""
    rail = Rail()
    assert set((await judged(CHECK, rail)).values()) == {Verdict.NOT_APPLICABLE}
    assert not [call for call in rail.calls if call.proof]
