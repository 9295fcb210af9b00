"""`--chains`: which chain each lane runs on."""

from __future__ import annotations

import pytest

from localnet.chain_selection import describe_mixture, parse

ALL_SIMULATED = {"algorand": "sim", "base": "sim", "solana": "sim"}
LANES = ("algorand", "base", "solana")


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("sim", ALL_SIMULATED),
        ("localnet", dict.fromkeys(LANES, "localnet")),
        ("localnet,algorand=sim", {**dict.fromkeys(LANES, "localnet"), "algorand": "sim"}),
        ("base=localnet, sim", {**ALL_SIMULATED, "base": "localnet"}),
        ("algorand=sim,base=sim,solana=localnet", {**ALL_SIMULATED, "solana": "localnet"}),
    ],
)
def test_a_word_stands_for_every_lane_that_has_none_of_its_own(text: str, kinds: dict[str, str]) -> None:
    """A bare kind is for the lanes that are not named."""
    assert kinds == parse(text)


@pytest.mark.parametrize(
    "text",
    ["", "mainnet", "localnet,algorand", "localnet,voi=sim", "base=sim", "sim,localnet", "sim,base=sim,base=sim"],
)
def test_nothing_is_guessed(text: str) -> None:
    """What does not say clearly where each lane runs is refused."""
    with pytest.raises(ValueError, match="localnet"):
        parse(text)


def test_a_mixture_is_told() -> None:
    """Simulated lanes are named whenever others run on real nodes, and only then."""
    assert describe_mixture(parse("localnet,algorand=sim"), LANES) == "SIMULATED: algorand; on real nodes: base, solana"
    assert describe_mixture(parse("localnet,algorand=sim"), ("base",)) is None
    assert describe_mixture(parse("sim"), LANES) is None
