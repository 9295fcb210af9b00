"""Arguments of an addon's operations: the context of the addon, and the call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from reference.protocol.service_word import ServiceWord
from reference.web.clock import WpClock
from reference.web.control_plane_link.link import State
from reference.web.http.exchange import Reply, Request
from reference.web.http.json_body import Model, as_model, read_canonical


@dataclass(frozen=True, slots=True)
class Context:
    """The parts of the kit that an addon uses.

    Attributes:
        word: The service word.
        clock: The service's time.
        skew: Seconds by which clocks may differ.
        data_dir: Folder of its files; made when one is written.
        keys: Returns each trusted issuer's key, or None while no trust set may be used (P-AD-04).
        hub: Returns the state of the link.
    """

    word: ServiceWord
    clock: WpClock
    skew: int
    data_dir: Path
    keys: Callable[[], Mapping[str, bytes] | None]
    hub: Callable[[], State]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operation."""

    request: Request

    def json(self) -> Any:
        """Return the body's value.

        Raises:
            Unprocessable: It has none, it is not JSON (P-CV-13), or has no canonical form (P-CV-20).
        """
        return read_canonical(self.request.body)

    def model(self, model: type[Model]) -> Model:
        """Return the body as a request model.

        Raises:
            Unprocessable: It does not fit (P-AD-07).
        """
        return as_model(model, self.json())


# A result that is not a `Reply` is sent as JSON with status 200.
Handler: TypeAlias = Callable[[Call], Awaitable["Reply | Mapping[str, Any]"]]
