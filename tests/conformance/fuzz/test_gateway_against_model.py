"""The gateway does what a simple model of it does, whatever tenants, payers, operators, time and crashes do."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis.stateful import run_state_machine_as_test

from tests.conformance.fuzz.gateway_machine import Breach, Over, Reply, World, machine_of
from tests.conformance.fuzz.gateway_world import GatewayWorld, world

_LONG = float(os.environ.get("WELDPROOF_FUZZ_SECONDS", "6000"))
_SLICE = 300
_SHORT = 10.0
_EXAMPLES = 30
_CAUGHT_SECONDS = 200.0


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayWorld]:
    """A gateway and its chains, for all examples of the module."""
    with world(tmp_path_factory.mktemp("world")) as new_world:
        yield new_world


def ended_in_time(fault: BaseException) -> bool:
    """Return whether a walk broke off because its time was up, also where Hypothesis says that its draws broke off."""
    faults: list[BaseException] = []
    fault_link: BaseException | None = fault
    while fault_link is not None and fault_link not in faults:
        faults.append(fault_link)
        fault_link = fault_link.__cause__ or fault_link.__context__
    only = (Over, hypothesis.errors.HypothesisException, hypothesis.errors.StopTest)
    return isinstance(faults[-1], Over) and all(isinstance(each, only) for each in faults)


def walk(gateway: World, seconds: float, seed: int) -> int:
    """Run one example after the other until the time is up and return how many; a failure names its seed."""
    ends, count = time.monotonic() + seconds, 0
    settings = hypothesis.settings(
        max_examples=_EXAMPLES,
        stateful_step_count=30,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    for run in itertools.count(seed):
        machine = hypothesis.seed(run)(machine_of(gateway, ends))
        try:
            run_state_machine_as_test(machine, settings=settings)
        except BaseException as fault:
            if ended_in_time(fault):
                return count + machine.walked
            fault.add_note(f"run {run}")
            raise
        count += machine.walked
    return count


def test_only_the_end_of_the_time_ends_a_walk_in_peace() -> None:
    """A breach on the way stays one, whatever Hypothesis makes of the draws that broke off."""

    def chain_faults(*faults: BaseException) -> BaseException:
        for fault, next_fault in itertools.pairwise(faults):
            next_fault.__context__ = fault
        return faults[-1]

    flaky = hypothesis.errors.FlakyStrategyDefinition
    assert ended_in_time(Over())
    assert ended_in_time(chain_faults(Over(), Over(), flaky("draws")))
    assert not ended_in_time(flaky("draws"))
    assert not ended_in_time(chain_faults(Breach("5xx"), Over(), flaky("draws")))
    assert not ended_in_time(chain_faults(Over(), Breach("5xx")))


def test_the_gateway_keeps_to_the_model(gateway: GatewayWorld) -> None:
    """Some examples, others each day."""
    day = int(os.environ.get("ROTATE", time.strftime("%j")))
    assert walk(gateway, _SHORT, day * 1_000_000) > 0


class Lying:
    """The gateway, but for answers that a test changes."""

    def __init__(self, world: GatewayWorld, change: Callable[[str, str, Reply], Reply]) -> None:
        self._world = world
        self._change = change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def call(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None) -> Reply:
        """Answer differently than the gateway does."""
        return self._change(method, path, self._world.call(method, path, headers, body))


def _says(status: int, old: bytes, new: bytes, where: str = "") -> Callable[[str, str, Reply], Reply]:
    """Return what replaces some bytes in answers of a status, below a path."""

    def change(_: str, path: str, reply: Reply) -> Reply:
        fits = reply.status == status and path.startswith(where)
        return replace(reply, body=reply.body.replace(old, new)) if fits else reply

    return change


def _answers(old: int, new: int, where: str) -> Callable[[str, str, Reply], Reply]:
    """Return what replaces a status below a path."""
    return lambda _, path, reply: (
        replace(reply, status=new) if (reply.status, path.startswith(where)) == (old, True) else reply
    )


@pytest.mark.parametrize(
    "change",
    [
        _answers(201, 500, "/v1/"),
        _answers(404, 200, "/v1/resources"),
        _says(201, b'"amount_microunits":1', b'"amount_microunits":2', "/v1/payment-links"),
        _says(200, b'"status":"active"', b'"status":"expired"', "/checkout"),
        _says(200, b'data-state="active"', b'data-state="paid"', "/checkout"),
    ],
    ids=["crash", "resource", "amount", "state", "page"],
)
def test_a_gateway_that_lies_is_caught(gateway: GatewayWorld, change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer that the model does not know breaks the walk."""
    monkeypatch.setattr("tests.conformance.fuzz.gateway_machine.PATIENCE", 1.0)
    with pytest.raises(Breach), contextlib.redirect_stdout(io.StringIO()):
        walk(Lying(gateway, change), _CAUGHT_SECONDS, 1)


@pytest.mark.fuzz
@pytest.mark.timeout(0)
def test_the_gateway_keeps_to_the_model_for_long(gateway: GatewayWorld) -> None:
    """Half of the fuzzed time: new examples."""
    assert walk(gateway, _LONG / 2, time.time_ns() % 2**48) > 0


@pytest.mark.fuzz
@pytest.mark.timeout(0)
def test_generated_requests_find_nothing_for_long(tmp_path: Path) -> None:
    """The other half: the published documents of the whole stack, in slices of five minutes with seeds of their own."""
    ends = time.monotonic() + _LONG / 2
    while (seconds_left := ends - time.monotonic()) > 1:
        words = ["run", "X-OAS-01", "X-ROB-01", "X-JSON", "--reference", "--strict", "--report", "json"]
        words += [
            "--fuzz-seconds",
            str(max(11, min(_SLICE, int(seconds_left)))),
            "--report-dir",
            str(tmp_path / "report"),
        ]
        result = subprocess.run(
            [sys.executable, "-m", "conformance", *words], capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
