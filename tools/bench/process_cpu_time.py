"""What a process costs: the CPU time of its group, from /proc; and which processor runs what."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from localnet.prepared.requests import process_name

_TICKS = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


def group_seconds(group: int) -> float:
    """Return the CPU seconds, user and system, of the living processes of a group and of the children they reaped."""
    return sum(_seconds(stat) for _, stat in _stats() if int(stat[2]) == group)


def service_pid(root: int, module: str) -> int:
    """Return the process below `root` that is a service, started as `python -m MODULE` or forked for it.

    Raises:
        LookupError: There is no such process, or more than one.
    """
    parents = {pid: int(stat[1]) for pid, stat in _stats()}
    below = {root}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    services = [pid for pid in below - {root} if _is_service(pid, module)]
    if len(services) != 1:
        raise LookupError(f"{len(services)} processes of {module} where there should be one")
    return services[0]


def process_seconds(pid: int) -> float:
    """Return the CPU seconds of a process, its ended threads too, by its own clock: `stat` tells hundredths alone.

    Raises:
        OSError: There is no such process.
    """
    clock = ctypes.c_int()
    number = ctypes.CDLL(None).clock_getcpuclockid(pid, ctypes.byref(clock))
    if number:
        raise OSError(number, os.strerror(number))
    return time.clock_gettime(clock.value)


def _stats() -> Iterator[tuple[int, list[str]]]:
    """Give each process's id and the fields of its `stat` after its name: state, parent, group and so on."""
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            try:
                yield int(folder.name), (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            except OSError:
                continue  # it ended meanwhile


def _seconds(stat: list[str]) -> float:
    return sum(int(stat[place]) for place in (11, 12, 13, 14)) / _TICKS


def _is_service(pid: int, module: str) -> bool:
    return f"-m {module} " in f"{_read_proc(pid, 'cmdline')} " or _read_proc(pid, "comm") == process_name(module)


def _read_proc(pid: int, file: str) -> str:
    try:
        return (_PROC / str(pid) / file).read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def server_and_client() -> tuple[set[int], set[int]]:
    """Return the processor for servers and the one for the client; the same where there is but one."""
    processors = sorted(os.sched_getaffinity(0))
    return {processors[0]}, {processors[-1]}


@contextmanager
def pin_to(processors: set[int]) -> Iterator[None]:
    """Keep this process on some processors for a while."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def model(proc: Path = _PROC) -> str:
    """Return the name of the processor, with its family and model if they are known.

    A virtual machine may show "AMD EPYC" for generations whose floors differ by a third.
    """
    try:
        lines = (proc / "cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return "unknown"
    facts = {name.strip(): value.strip() for name, _, value in reversed([line.partition(":") for line in lines])}
    name = facts.get("model name", "unknown")
    if "cpu family" in facts and "model" in facts:
        return f"{name} (family {facts['cpu family']}, model {facts['model']})"
    return name
