"""The settings of the payer, from its environment (10.1)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

_PREFIX = "WELDPROOF_PAYER_"


class Refused(Exception):
    """Nothing was paid, and nothing will be; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class Settings:
    """One call and the permission to pay for it.

    Attributes:
        url: Address that is called.
        method: `POST` for a call, `GET` for the page of a checkout link.
        body: Request body of a call, as it is sent.
        lane: Lane to pay on.
        network: CAIP-2 name of the only network that may be paid on.
        asset: The only asset that may be paid in.
        node: Address of the chain's node.
        node_token: Token of the node; empty without one.
        key: Private key of the account, in the form of the lane.
        limit: Greatest number of atomic units that may be paid.
        seconds: Time for the whole call.
        state: Folder that outlives a crash.
        a2a_url: Endpoint of A2A at which the call is made; empty for a call over HTTP.
        service_id: Service that an order over A2A names; empty for a call over HTTP.
    """

    url: str
    method: str
    body: bytes
    lane: str
    network: str
    asset: str
    node: str
    node_token: str = field(repr=False)
    key: str = field(repr=False)
    limit: int
    seconds: float
    state: Path
    a2a_url: str = ""
    service_id: str = ""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """Return the settings in an environment.

        Raises:
            Refused: A variable is missing or malformed.
        """
        try:
            values = {name.removeprefix(_PREFIX): value for name, value in environment.items()}
            token_file = values.get("NODE_TOKEN_FILE")
            return cls(
                url=values["URL"],
                method=values["METHOD"],
                body=Path(values["BODY_FILE"]).read_bytes() if values["METHOD"] == "POST" else b"",
                lane=values["LANE"],
                network=values["NETWORK"],
                asset=values["ASSET"],
                node=values["NODE"].rstrip("/"),
                node_token="" if token_file is None else Path(token_file).read_text("ascii").strip(),
                key=Path(values["ACCOUNT_FILE"]).read_text("ascii").strip(),
                limit=int(values["LIMIT"]),
                seconds=float(values["SECONDS"]),
                state=Path(values["STATE_DIR"]),
                a2a_url=values.get("A2A_URL", ""),
                service_id=values.get("SERVICE_ID", ""),
            )
        except (KeyError, OSError, ValueError) as fault:
            raise Refused(f"the environment is not complete: {type(fault).__name__} {fault}") from None

    @property
    def address(self) -> SplitResult:
        """The parts of the address."""
        return urlsplit(self.url)

    @property
    def request(self) -> Any:
        """The request body as JSON."""
        return json.loads(self.body)
