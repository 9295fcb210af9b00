"""A rail on a machine whose clock is set by hand while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tests import prepared
from tests.reference.rail.rail_stack import COMPLIANCE, COMPLIANCE_BODY, Rail

PATIENCE_SECONDS = 120.0


@dataclass
class JumpingRail(Rail):
    """A rail whose machine's clock the test sets; its chain has the right time."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.wall_file = self.folder / "wall"
        self.settings["WELDPROOF_TEST_WALL"] = str(self.wall_file)
        self.set_wall(0)

    def set_wall(self, seconds: float) -> None:
        """Set the machine's clock to `seconds` from the right time."""
        fresh = self.wall_file.with_name("wall.fresh")
        fresh.write_text(str(seconds), "ascii")
        fresh.rename(self.wall_file)

    def launch(self) -> None:
        """Start the process."""
        words = ["tests.reference.jumping", "reference.rail"]
        handed = [self.socket.fileno()]
        with (self.folder / "log").open("ab") as log:
            self.process = prepared.start(*words, env=self.environment(), pass_fds=handed, stdout=log, stderr=log)

    def health(self) -> tuple[int, str]:
        """Return what /health answers: its status, and its code or `ok`."""
        answer = self.http.get("/health")
        return answer.status_code, answer.json().get("error", "ok")

    def unpaid(self) -> tuple[int, str]:
        """Return status and code of an unpaid call."""
        answer = self.http.post(COMPLIANCE, json=COMPLIANCE_BODY)
        return answer.status_code, answer.json()["error"]


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)
