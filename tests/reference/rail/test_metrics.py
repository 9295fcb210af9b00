"""GET /metrics of the rail: for who has the token, and for everybody else not there."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.reference.rail.rail_stack import Payer, Rail, SimulatedChain, proof_of
from tests.reference.rail.test_unserved_payments import GIVEN_BACK, payments

LANE = "algorand_mainnet"


def read_metrics(rail: Rail) -> dict[str, float]:
    """Return what the rail measures: `name` or `name state`, of the one lane."""
    token = (rail.folder / "metrics_token").read_text("ascii")
    answer = rail.http.get("/metrics", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    return {
        " ".join([one.name.removeprefix("weldproof_rail_"), *filter(None, [one.labels.get("state")])]): one.value
        for family in text_string_to_metric_families(answer.text)
        for one in family.samples
        if one.labels.get("network", LANE) == LANE
    }


def plain(answer: httpx.Response) -> tuple[int, bytes, dict[str, str]]:
    """Return what tells answers apart, without what is of each answer its own."""
    own = {"x-request-id", "date"}
    return answer.status_code, answer.content, {name: one for name, one in answer.headers.items() if name not in own}


def test_without_the_token_it_is_not_there(own_rail: Callable[..., Rail], tmp_path: object) -> None:
    """Switched off, and switched on without or with a wrong token: the answer is that of any unknown path."""
    del tmp_path
    off = own_rail()
    on = own_rail(WP_METRICS_TOKEN_FILE=str(off.folder / "metrics_token"))
    token = (off.folder / "metrics_token").read_text("ascii")
    right = {"Authorization": f"Bearer {token}"}
    for rail, headers in ((off, {}), (off, right), (on, {}), (on, {"Authorization": "Bearer " + "A" * 43})):
        for method in ("GET", "POST", "HEAD", "OPTIONS"):
            nobody = plain(rail.http.request(method, "/metric", headers=headers))
            assert plain(rail.http.request(method, "/metrics", headers=headers)) == nobody
    assert plain(on.http.post("/metrics", headers=right)) == plain(on.http.post("/metric", headers=right))
    assert on.http.get("/metrics", headers=right).status_code == 200
    assert on.http.get("/health").status_code == 200


def test_every_state_is_measured(own_rail: Callable[..., Rail], payer: Payer) -> None:
    """Paid and unserved after a kill, none once served; given back for ever; waiting; a clock in doubt."""
    rail = own_rail(mutant="crash-after-paid", WP_RAIL_LEASE_SECONDS="0.5")
    rail.settings["WP_METRICS_TOKEN_FILE"] = str(rail.folder / "metrics_token")
    proofs = []
    for _ in range(2):
        entry = rail.quote()
        proofs.append(proof_of(payer.pay(entry), entry))
        with pytest.raises(httpx.TransportError):
            rail.present(proofs[-1])
        assert rail.process.wait(120) == -signal.SIGKILL
        (rail.folder / "crashed").unlink()
        rail.start()
    rail.stop()
    rail.mutant = None
    rail.start()
    report = read_metrics(rail)
    assert (report["payments paid_unserved"], report["payments refunded"], report["ledger_up"]) == (2, 0, 1)
    assert (report["lane_away"], report["clock_in_doubt"]) == (0, 0)
    number = next(line.split()[0] for line in payments(rail)[1].splitlines()[1:])
    assert payments(rail, "refunded", number, "--transaction", GIVEN_BACK)[0] == 0
    report = read_metrics(rail)
    assert (report["payments paid_unserved"], report["payments refunded"]) == (1, 1)
    assert sorted(rail.present(proof).status_code for proof in proofs) == [200, 409]
    entry = rail.quote()
    rail.present(proof_of("A" * 52, entry))
    report = read_metrics(rail)
    assert (report["payments paid_unserved"], report["payments refunded"], report["payments waiting"]) == (0, 1, 1)
    # This process has served one payment that another had marked as paid, and has one claim of its own.
    entered = [report[f"redemptions_total {state}"] for state in ("settling_unpaid", "settling_paid", "spent")]
    assert entered == [1, 0, 1]
    assert report["weldproof_node_lag_seconds"] >= 0


def test_a_lane_that_is_away_is_measured(own_rail: Callable[..., Rail], calm_chain: SimulatedChain) -> None:
    """And what waits for its node."""
    rail = own_rail(WP_RAIL_NODE_LOOK_SECONDS="0.1")
    rail.stop()
    rail.settings["WP_METRICS_TOKEN_FILE"] = str(rail.folder / "metrics_token")
    rail.start()
    entry = rail.quote()
    calm_chain.control("fault", name="unavailable", count=10**6)
    rail.present(proof_of("A" * 52, entry))
    while read_metrics(rail)["lane_away"] == 0:
        time.sleep(0.02)
    assert read_metrics(rail)["payments waiting_for_node"] == 1
