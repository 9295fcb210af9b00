"""Payers, nodes and senders of the lanes, opened by a profile: official SDKs, real signatures, real transactions."""

from __future__ import annotations

from conformance import extras
from conformance.http.client import Names
from conformance.lanes.checkout_request import CheckoutPayer
from conformance.lanes.descriptor import LaneTools, Payer
from conformance.lanes.funded_payer import LaneNode
from conformance.lanes.main_network_guard import NodeNetwork
from conformance.lanes.registry import LANES
from conformance.lanes.signed_payment import PaymentSender
from conformance.lanes.spending import Wallet
from conformance.lanes.tested_payer_accounts import PayerHost
from conformance.outcome import Inconclusive
from conformance.target import Budgets, Chain, Chains, Profile
from conformance.vocabulary.lanes.registry import FACTS


async def open_payer(
    lane: str, profile: Profile, names: Names, chains: Chains | None = None, wallet: Wallet | None = None
) -> Payer:
    """Open the payer of a lane with a funded account, on the nodes of `chains` or the rail's.

    Args:
        lane: The lane.
        profile: The target's profile.
        names: The redaction table.
        chains: Other nodes than the rail's.
        wallet: How much of the operator's money the run may take; None for a fresh wallet without main networks.

    Raises:
        Inconclusive: The profile gives no node for the lane, or no way to fund an account; or the lane's extra is not
            installed.
    """
    chain = (profile.chains if chains is None else chains).of(lane)
    if chain is None:
        raise Inconclusive(f"the profile has no [chains.{lane}] table, so nothing can be paid on that lane")
    return await _find_tools(lane).payer(chain, profile.budgets, names, wallet)


async def read_network(chain: Chain, budgets: Budgets, names: Names) -> NodeNetwork:
    """Return the network of a node, as the node reports it.

    Raises:
        Inconclusive: The node could not be asked, or the lane's extra is not installed.
    """
    node = open_node(chain, budgets, names)
    try:
        return await node.read_network()
    finally:
        await node.close()


def open_node(chain: Chain, budgets: Budgets, names: Names) -> LaneNode:
    """Open a node of the profile.

    Raises:
        Inconclusive: The lane's extra is not installed, or the node's token cannot be read.
    """
    return _find_tools(chain.lane).node(chain, budgets, names)


def open_checkout_payer(payer: Payer) -> CheckoutPayer:
    """Return the payer of checkout links that uses the account of an open payer.

    Raises:
        Inconclusive: The suite pays no links on that lane.
    """
    if payer.lane not in LANES:
        raise Inconclusive(f"the suite pays no checkout link on the lane {payer.lane}")
    return _find_tools(payer.lane).checkout(payer)


def open_payer_host(payer: Payer) -> PayerHost:
    """Return the chain side of a payer under test, with the account of an open payer as the source of money."""
    return _find_tools(payer.lane).payer_host(payer)


def open_sender(chain: Chain, budgets: Budgets, names: Names) -> PaymentSender:
    """Open the sender of signed payments on a node of the profile.

    Raises:
        Inconclusive: The lane's extra is not installed, or the node's token cannot be read.
    """
    return _find_tools(chain.lane).sender(chain, budgets, names)


async def take_back(chain: Chain, budgets: Budgets, names: Names, wallet: Wallet, asset: str) -> None:
    """Return the money in the account of a wallet's label to the funder; nothing if a simulated node gave it.

    Raises:
        Inconclusive: The node could not be asked or may not be paid on, or the lane's extra is not installed.
    """
    await _find_tools(chain.lane).take_back(chain, budgets, names, wallet, asset)


def _find_tools(lane: str) -> LaneTools:
    extra = FACTS[lane].extra
    # Before the import of the lane's modules, whose ImportError would not say what to install.
    if not extras.is_installed(extra):
        raise Inconclusive(extras.sentence(extra))
    return LANES[lane].means()
