"""`python -m conformance.fuzz`: the generating process of X-OAS-01, spoken to over its standard streams."""

from __future__ import annotations

import gc
import os
import sys
from typing import BinaryIO

from conformance.fuzz.request_generator import Generation
from conformance.fuzz.process_messages import Message, Order, Reply, Request, line_of, message_of

# New objects between two looks for garbage: a request that is drawn makes tens of thousands, and most go at once.
_LITTER = 10**5


class Pipes:
    """The line to the runner over two streams."""

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._source = source
        self._sink = sink

    def receive(self) -> Message:
        """Return the runner's next message; ends the process when the runner is gone."""
        line = self._source.readline()
        if not line:
            sys.exit(0)
        return message_of(line)

    def send(self, message: Message) -> None:
        """Send a message."""
        self._sink.write(line_of(message))
        self._sink.flush()

    def request(self, request: Request) -> Reply:
        """Send a request and return its reply."""
        self.send(request)
        reply = self.receive()
        if not isinstance(reply, Reply):
            sys.exit(f"expected a reply, got {type(reply).__name__}")
        return reply


def main() -> None:
    """Serve one order; whatever a library prints goes nowhere."""
    gc.freeze()
    gc.set_threshold(_LITTER)
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    pipes = Pipes(sys.stdin.buffer, sink)
    order = pipes.receive()
    if not isinstance(order, Order):
        sys.exit("expected an order")
    pipes.send(Generation(order, pipes).run())


if __name__ == "__main__":
    main()
