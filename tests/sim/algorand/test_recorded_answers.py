"""The simulated Algorand answers as a real algod did: every recorded case is asked again in both modes.

`python -m tests.sim.algorand.answers record` makes the recordings from a private network of a stock algod.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from typing import Any

import pytest

from tests import prepared
from tests.sim.algorand.answers.recordings import Allowed, Difference, differences, load
from tests.sim.algorand.answers.script import Script
from tests.sim.algorand.answers.session import Session

# What stays different, and why no client or server under test depends on it.
_STAYS = (
    Allowed("GET /genesis*", "body.alloc", "the simulator's genesis has a bank and no participants"),
    Allowed("GET /genesis*", "body.fees", "as above"),
    Allowed("GET /genesis*", "body.rwd", "as above"),
    Allowed("GET /genesis*", "body.network", "the simulator's network has another name"),
    Allowed("GET /versions*", "body.build", "the simulator's build is not a build of go-algorand"),
    *(
        Allowed("block*", f"body.block.{member}", "rewards, proposers and commitments, for consensus and proofs alone")
        for member in ("bi", "fc", "ld", "prev512", "prp", "rwcalr", "rwd", "seed", "spt", "txn", "txn256", "txn512")
    ),
    Allowed("block*format=msgpack", "body.cert", "the certificate of a block, as above"),
)


def verb(url: str, **members: Any) -> dict[str, Any]:
    """Carry out a control verb."""
    request = urllib.request.Request(
        url + "/control", json.dumps(members).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        body: dict[str, Any] = json.loads(answer.read())
        return body


def run_simulator(mode: str) -> Mapping[str, Any]:
    """Return the simulator's answers in a mode."""
    words = ["--algod-port", "0", "--indexer-port", "0", "--mode", mode, "--block-seconds", "0.02"]
    with prepared.run_ready("sim.algorand", *words) as ready:
        url = ready["algod"]
        clock = {"verb": "idle"} if mode == "dev" else {"verb": "advance"}
        session = Session(
            url, ready["token"], mode, lambda to, amount: verb(url, verb="fund", address=to, amount=str(amount))
        )
        Script(session, lambda seconds: verb(url, **clock, seconds=seconds)).run()
        return session.answers


@pytest.fixture(scope="module")
def listed_differences() -> Mapping[str, list[Difference]]:
    """What the simulator answers differently from the recording of its mode, by the mode."""
    return {mode: list(differences(run_simulator(mode), load(mode)["answers"])) for mode in ("rounds", "dev")}


@pytest.mark.parametrize("mode", ["rounds", "dev"])
def test_the_simulator_answers_as_the_recorded_node(
    listed_differences: Mapping[str, list[Difference]], mode: str
) -> None:
    """Status, headers, type and each member of each answer, but for what is listed with its reason."""
    assert [str(one) for one in listed_differences[mode] if not any(allowed.covers(one) for allowed in _STAYS)] == []


def test_each_listed_difference_is_one(listed_differences: Mapping[str, list[Difference]]) -> None:
    """A difference that is gone leaves the list."""
    every = [one for differing in listed_differences.values() for one in differing]
    assert [allowed for allowed in _STAYS if not any(allowed.covers(one) for one in every)] == []


def test_a_wrong_answer_is_noticed() -> None:
    """Another status, a member more and a member less are differences; equal answers have none."""
    answers = load("rounds")["answers"]
    case = "submit receiver not opted in"
    wrong_answer = {**answers[case], "status": 200, "body": {"txId": "X"}}
    noticed_members = {one.member for one in differences({**answers, case: wrong_answer}, answers)}
    assert noticed_members == {"status", "body.txId", "body.message"}
    assert list(differences(answers, answers)) == []
    assert {one.case for one in differences({}, {case: answers[case]})} == {case}
