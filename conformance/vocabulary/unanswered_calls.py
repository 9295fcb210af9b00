"""Parts of the client's texts about calls without an answer, by which reports choose the fitting advice."""

from __future__ import annotations

from typing import Final

# The connection was not made: mostly no server listens at the address.
NO_CONNECTION: Final = "cannot connect to"
# The connection was made, and no whole answer came in time.
NO_ANSWER_IN_TIME: Final = "answer within"
# The connection was lost before the whole request was sent, so the server has not read it.
UNSENT: Final = "the connection was lost while the request was sent"
