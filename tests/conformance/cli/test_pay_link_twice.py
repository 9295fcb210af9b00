"""`weldproof pay` on a checkout link that another payer pays meanwhile."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.cli.killing import Payer, Seen, world

LANE = "algorand"


def test_the_paid_of_another_payment_is_not_taken_for_this_one(tmp_path: Path) -> None:
    """The transaction is not on the chain, and the page shows Paid: the payment stays open and is named."""
    for name in ("stack", "first", "second"):
        (tmp_path / name).mkdir()
    with world(tmp_path / "stack", "--surface", "gateway", "--lane", LANE) as stack:
        url, _, _ = stack.link(LANE)
        first, second, other_payments = Payer(stack, tmp_path / "first"), Payer(stack, tmp_path / "second"), list[int]()

        def watch(request_seen: Seen) -> bool:
            if not request_seen.is_transaction or request_seen.phase != "before":
                return False
            stack.watch = None
            other_payments.append(second.run_command(url).returncode)
            stack.watch = lambda seen: seen.is_transaction
            return True

        stack.watch = watch
        result = first.run_command(url, "--wait", "4")
        assert other_payments == [0]
        assert (result.returncode, "perhaps by another payment" in result.stderr) == (5, True), result.stderr
        assert [one["state"] for one in first.records()] == ["signed"]


def test_a_payment_that_came_second_is_not_reported_as_paid(tmp_path: Path) -> None:
    """Its money moved, and the link was paid by another transaction: exit code 6 names both."""
    for name in ("stack", "first", "second"):
        (tmp_path / name).mkdir()
    with world(tmp_path / "stack", "--surface", "gateway", "--lane", LANE) as stack:
        url, _, _ = stack.link(LANE)
        first, second, other_payments = Payer(stack, tmp_path / "first"), Payer(stack, tmp_path / "second"), list[int]()

        def watch(request_seen: Seen) -> bool:
            if request_seen.is_transaction and request_seen.phase == "before":
                stack.watch = None
                other_payments.append(second.run_command(url).returncode)
            return False

        stack.watch = watch
        result = first.run_command(url)
        assert other_payments == [0]
        assert result.returncode == 6, result.stdout + result.stderr
        own, other = (payer.records()[0]["signed"]["tx_id"] for payer in (first, second))
        assert f"{own} moved the money, but another transaction, {other}, paid the link" in result.stderr
        again = first.run_command(url)
        assert (again.returncode, f"another transaction, {other}" in again.stderr) == (6, True), again.stderr
