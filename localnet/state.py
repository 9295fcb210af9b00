"""localnet.json: which nodes run in the background, without any secret."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

NAME = "localnet.json"
_PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class Process:
    """A process that cannot be taken for a later one of the same number.

    Attributes:
        pid: Its number.
        started: When it started, in clock ticks since the machine did; 0 if that is unknown.
    """

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> Process:
        """Return a running process as it can be found again."""
        return cls(pid, _start_time_of(pid))

    @property
    def runs(self) -> bool:
        """Whether it is still there."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return _start_time_of(self.pid) == self.started

    def gone_within(self, seconds: float) -> bool:
        """Wait for its end and return whether it came."""
        ends = time.monotonic() + seconds
        while self.runs and time.monotonic() < ends:
            time.sleep(_PAUSE)
        return not self.runs

    def kill_group(self) -> None:
        """End it with everything it started, at once."""
        if self.runs:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class State:
    """What runs in the background.

    Attributes:
        holder: The process that started the nodes and ends them.
        processes: The nodes' and the sidecar's processes by name.
        lanes: Lanes that run.
        urls: Address by the name that its lane has for it.
        control: Control address by name of the chain.
    """

    holder: Process
    processes: Mapping[str, Process]
    lanes: tuple[str, ...]
    urls: Mapping[str, str]
    control: Mapping[str, str]

    def write(self, data_dir: Path) -> Path:
        """Write it into a data directory, at once or not at all."""
        path = data_dir / NAME
        draft = path.with_name(NAME + ".draft")
        draft.write_text(json.dumps(asdict(self), indent=2) + "\n", "utf-8")
        draft.replace(path)
        return path


def read(data_dir: Path) -> State | None:
    """Return what runs according to a data directory; None where nothing does, or the file is not ours."""
    try:
        content = json.loads((data_dir / NAME).read_text("utf-8"))
        state = State(
            Process(**content["holder"]),
            {name: Process(**one) for name, one in content["processes"].items()},
            tuple(content["lanes"]),
            content["urls"],
            content["control"],
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return state if state.holder.runs or any(one.runs for one in state.processes.values()) else None


def _start_time_of(pid: int) -> int:
    """Return when a process started; what stands after its name in brackets, which may hold anything."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except OSError:
        return 0
    return -1 if fields[0] in {"Z", "X"} else int(fields[19])
