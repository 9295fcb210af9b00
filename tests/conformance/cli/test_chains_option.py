"""`weldproof run --chains`: real nodes for our own stack, or the nodes of a file for another target."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import tomlkit

from tests import prepared
from tests.stack import running_stack

ELSEWHERE = "https://node.example/rpc"


def run_suite(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the suite in a folder, without an operator's algod."""
    kept_variables = {name: value for name, value in os.environ.items() if not name.startswith(("ALGOD_", "INDEXER_"))}
    return prepared.run("conformance", "run", *words, env={**kept_variables, **environment}, cwd=folder, timeout=600)


def chains(folder: Path, **members: str) -> Path:
    path = folder / "chains.toml"
    path.write_text(tomlkit.dumps({"chains": {"base": {"rpc": ELSEWHERE, **members}}}))
    return path


def test_the_nodes_of_a_file_take_the_place_of_the_profiles(tmp_path: Path) -> None:
    """A rail whose profile names no node is paid on the nodes that the file names."""
    with running_stack(tmp_path / "stack", "--lane", "base", "--surface", "rail") as ready:
        profile = tomlkit.parse(Path(ready["profile"]).read_text())
        (tmp_path / "nodes.toml").write_text(tomlkit.dumps({"chains": profile.pop("chains")}))
        (tmp_path / "rail.toml").write_text(tomlkit.dumps(profile))
        paid_run = run_suite(tmp_path, "RAIL-PAY-04", "--config", "rail.toml", "--chains", "nodes.toml")
        unpaid = run_suite(tmp_path, "RAIL-PAY-04", "--config", "rail.toml")
    assert paid_run.returncode == 0, paid_run.stdout + paid_run.stderr
    assert unpaid.returncode == 3, unpaid.stdout + unpaid.stderr


def test_a_main_network_is_not_used_without_its_own_flag(tmp_path: Path) -> None:
    """A node elsewhere whose network is a main one ends the run before anything is sent, unless the flag is given."""
    words = ["RAIL-PAY-04", "--target", "rail=http://127.0.0.1:9", "--chains", str(chains(tmp_path))]
    refused_run = run_suite(tmp_path, *words)
    assert refused_run.returncode == 2
    assert "--main-network" in refused_run.stderr
    assert not (tmp_path / "report").exists()
    assert run_suite(tmp_path, *words, "--main-network").returncode == 3


def test_the_operators_money_needs_a_limit(tmp_path: Path) -> None:
    """A funder for a node elsewhere without a spending limit is a usage fault that says what to write."""
    path = chains(tmp_path, network="base_sepolia")
    path.write_text(path.read_text() + '\n[chains.base.funder]\nenv = "FUNDER"\n')
    result = run_suite(tmp_path, "RAIL-PAY-04", "--target", "rail=http://127.0.0.1:9", "--chains", str(path))
    assert result.returncode == 2
    assert "spending_limit" in result.stderr


def test_a_file_of_nodes_needs_a_target(tmp_path: Path) -> None:
    """Our own stack runs on nodes that it starts itself; kinds of chains go with our own stack only."""
    result = run_suite(tmp_path, "RAIL-PAY-04", "--chains", str(chains(tmp_path, network="base_sepolia")))
    assert result.returncode == 2
    assert "--config or --target" in result.stderr
    both_run = run_suite(tmp_path, "RAIL-PAY-04", "--target", "rail=http://127.0.0.1:9", "--chains", "localnet")
    assert both_run.returncode == 2
    assert "--chains KINDS" in both_run.stderr
    assert run_suite(tmp_path, "RAIL-PAY-04", "--chains", "absent.toml").returncode == 2


def test_what_a_real_node_needs_is_named_by_run_too(tmp_path: Path) -> None:
    """A stack that cannot come up is no verdict, with the launcher's sentence."""
    result = run_suite(tmp_path, "RAIL-PAY-02", "--chains", "localnet", "--lane", "algorand", PATH="/nowhere")
    assert result.returncode == 3
    assert "ALGOD_URL" in result.stderr
    assert "--chains localnet,algorand=sim" in result.stderr


def test_a_single_payment_is_guarded_too(tmp_path: Path) -> None:
    """`pay` pays on no main network without its own flag either."""
    path = chains(tmp_path)
    words = ["pay", "http://127.0.0.1:9/pay", "--config", str(path)]
    refused_run = prepared.run("conformance", *words, env=os.environ, cwd=tmp_path, timeout=600)
    assert refused_run.returncode == 2
    assert "--main-network" in refused_run.stderr
