"""What is to be known of a lane without asking its chain; pure and light to load."""

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
        family: The first lane of its family, whose own checks are its own as well.
        extra: The extra of the distribution whose libraries pay on it.
        main: Its main network.
        test: Its test network.
        memo_ways: How a checkout's memo can be bound to a payment (3.5), the usual way first.
        options: Options of `weldproof init`; the first is needed.
        payer: The options that let a payer pay, as a hint shows them.
        ports: Usual ports of its nodes by what people call them.
        draft: The commented lines of its table in a profile that `weldproof init` writes.
        payments: How many calls' price a whole run pays: what the payees held after a run of all rows of the rail on
            the simulated chains, divided by the price of a call.
        no_transaction: An id of the right form that names no transaction; None where a proof names none.
        first_block: Hash of block 0 of its main network, whose id simulators bear; None where no simulator does.
        further_main: CAIP-2 names of further main networks of its kind, whose USDC the suite does not know.
        takes_namespace: Whether networks of its CAIP-2 namespace that no lane names are its own.
        development: CAIP-2 names that development nodes bear and no public network does, where anybody may choose one.
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
    development: frozenset[str] = frozenset()

    @property
    def namespace(self) -> str:
        """CAIP-2 namespace of its networks."""
        return self.main.caip2.partition(":")[0]
