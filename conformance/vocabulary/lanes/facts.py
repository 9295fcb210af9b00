"""Facts of a lane that need no query of its chain; pure and quick to import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from conformance.vocabulary.network import Network


@dataclass(frozen=True, slots=True)
class NodeOption:
    """An option of `weldproof init` that says where a lane's node is or who pays there.

    Attributes:
        flag: The option.
        member: The member of the lane's table in a profile that it gives.
        help: Its help.
        kind: A `text` that is the member, a `file` that holds it, or the environment variable of the `funder`.
    """

    flag: str
    member: str
    help: str
    # A key is never an argument, which every user of the machine can read: the option names an environment variable.
    kind: Literal["text", "file", "funder"] = "text"

    @property
    def name(self) -> str:
        """The name of its parameter."""
        return self.flag.removeprefix("--").replace("-", "_")


@dataclass(frozen=True, slots=True)
class LaneFacts:
    """One lane.

    Attributes:
        name: The lane.
        family: The first lane of its family, whose checks apply to it as well.
        extra: The extra of the distribution whose libraries pay on it.
        main: Its main network.
        test: Its test network.
        memo_ways: The ways to bind a checkout's memo to a payment (3.5), the usual way first.
        options: Options of `weldproof init`; the first is needed.
        payer: The options of a payer, as a hint shows them.
        ports: Usual ports of its nodes, by their common names.
        draft: The commented lines of its table in a profile that `weldproof init` writes.
        payments: The number of calls whose price a whole run pays: the payees' balance after a run of all rows of the
            rail on the simulated chains, divided by the price of a call.
        no_transaction: A well-formed id of no transaction; None if proofs name no transaction.
        first_block: Hash of block 0 of its main network, if simulators use that network's id; otherwise None.
        further_main: CAIP-2 names of further main networks of its kind, whose USDC the suite does not know.
        takes_namespace: Whether unknown networks of its CAIP-2 namespace belong to it.
        has_stock_form: Whether the suite plays a rail of plain x402 version 2 on it, for payers that know no weld.
        development: CAIP-2 names that only development nodes use, in namespaces whose names can be chosen freely.
    """

    name: str
    family: str
    extra: str
    main: Network
    test: Network
    memo_ways: tuple[str, ...]
    options: tuple[NodeOption, ...]
    payer: str
    ports: Mapping[str, int]
    draft: str
    payments: int
    no_transaction: str | None
    first_block: str | None = None
    further_main: frozenset[str] = frozenset()
    takes_namespace: bool = False
    has_stock_form: bool = False
    development: frozenset[str] = frozenset()

    @property
    def namespace(self) -> str:
        """CAIP-2 namespace of its networks."""
        return self.main.caip2.partition(":")[0]
