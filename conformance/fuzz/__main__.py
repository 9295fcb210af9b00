"""`python -m conformance.fuzz`: the generating process of X-OAS-01, which the runner drives over standard streams."""

from __future__ import annotations

import gc
import os
import sys
from typing import BinaryIO

from conformance.fuzz.process_messages import Message, Order, Reply, Request, line_of, message_of
from conformance.fuzz.request_generator import Generation

# New objects between two garbage collections. A drawn request makes tens of thousands, and most are freed at once.
_LITTER = 10**5


class Pipes:
    """The connection to the runner over two streams."""

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._source = source
        self._sink = sink

    def receive(self) -> Message:
        """Return the runner's next message; end the process if the runner is gone."""
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
    """Serve one order; the output of libraries is discarded."""
    # The modules live as long as the process, so the collector need not look at them.
    gc.freeze()
    gc.set_threshold(_LITTER)
    # Libraries print to standard output, which carries the messages. So the messages get a copy of
    # the stream, and the original leads nowhere.
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    pipes = Pipes(sys.stdin.buffer, sink)
    order = pipes.receive()
    if not isinstance(order, Order):
        sys.exit("expected an order")
    pipes.send(Generation(order, pipes).run_rounds())


if __name__ == "__main__":
    main()
