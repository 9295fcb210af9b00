"""The process that forks: it receives requests, and reports the end of each forked process.

Each connection belongs to one process. Its first message requests the process and is answered with its number. Each
further message is the number of a signal for the process. The last message reports its exit status, a signal as its
negative number, as in `subprocess`. If the client closes the connection early, the process is killed.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import struct
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

from localnet.prepared.requests import ANEW, MOST_BYTES, MOST_DESCRIPTORS, Request, of_python

# What may be forked.
_OURS = ("reference.", "sim.", "tools.")
_NAMESPACES = ("net", "mnt", "pid", "user")
_PEER = struct.Struct("3i")
_STDIN = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Running:
    """A connection, and the process that it is."""

    door: socket.socket
    pid: int
    pidfd: int


class Forking:
    """Forks services for its clients, until the standard input ends."""

    def __init__(self, listener: socket.socket) -> None:
        self._listening = listener
        self._python = of_python(os.environ)
        self._poll = select.poll()  # without a descriptor of its own, which each process would have to close
        self._asking: dict[int, socket.socket] = {}
        self._doors: dict[int, _Running] = {}
        self._pidfds: dict[int, _Running] = {}

    def serve_until_forked(self) -> tuple[Request, list[int]] | None:
        """Return in each process that was forked, with its request and descriptors; None at the end of all."""
        self._poll.register(_STDIN, select.POLLIN)
        self._poll.register(self._listening.fileno(), select.POLLIN)
        while True:
            ready = {fd for fd, _ in self._poll.poll()}
            if _STDIN in ready:
                for child in list(self._doors.values()):
                    self._kill(child)
                return None
            # Ends go before starts: what takes the place of a process finds its port and its files free. A start waits
            # for the next look, since numbers of descriptors that an end has set free are soon another's.
            ended_children = [self._pidfds[fd] for fd in ready if fd in self._pidfds]
            signalled_children = [
                self._doors[fd] for fd in ready if fd in self._doors and self._doors[fd] not in ended_children
            ]
            for child in ended_children:
                self._tell_end(child)
            for child in signalled_children:
                self._pass_on(child)
            if ended_children or signalled_children:
                continue
            fork = self._begin(ready.pop())
            if fork is not None:
                return fork

    def _begin(self, fd: int) -> tuple[Request, list[int]] | None:
        if fd in self._asking:
            return self._start(self._asking[fd])
        door, _ = self._listening.accept()
        self._asking[door.fileno()] = door
        self._poll.register(door.fileno(), select.POLLIN)
        return None

    def _start(self, door: socket.socket) -> tuple[Request, list[int]] | None:
        message, fds, _, _ = socket.recv_fds(door, MOST_BYTES, MOST_DESCRIPTORS)
        request = Request.read(message) if message else None
        pid = -1
        if request is not None and self._may(request, door) and _import_main_of(request.service):
            pid = os.fork()
            if pid == 0:
                self._leave()
                return request, fds
        for fd in fds:
            os.close(fd)
        del self._asking[door.fileno()]
        if pid == -1:
            self._poll.unregister(door.fileno())
            _say(door, ANEW)
            door.close()
        else:
            child = _Running(door, pid, os.pidfd_open(pid))
            self._doors[door.fileno()] = self._pidfds[child.pidfd] = child
            self._poll.register(child.pidfd, select.POLLIN)
            _say(door, str(pid).encode())
        return None

    def _may(self, request: Request, door: socket.socket) -> bool:
        ours = request.service.startswith(_OURS)
        return ours and of_python(request.environment) == self._python and _same_place(door)

    def _pass_on(self, child: _Running) -> None:
        try:
            message = child.door.recv(64)
        except OSError:
            message = b""
        if not message:
            self._kill(child)
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(child.pidfd, int(message))

    def _kill(self, child: _Running) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(child.pidfd, signal.SIGKILL)
        self._tell_end(child)

    def _tell_end(self, child: _Running) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)  # its number is not reused before `waitpid`
        status = os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])
        for fd in (child.door.fileno(), child.pidfd):
            self._poll.unregister(fd)
        del self._doors[child.door.fileno()], self._pidfds[child.pidfd]
        os.close(child.pidfd)
        _say(child.door, str(status).encode())
        child.door.close()

    def _leave(self) -> None:
        """Let go of what is this process's, without closing it: the one that was forked closes all by number."""
        for door in (self._listening, *self._asking.values(), *(one.door for one in self._doors.values())):
            door.detach()


def _say(door: socket.socket, words: bytes) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the client no longer waits
        door.send(words)


def _same_place(door: socket.socket) -> bool:
    """Return whether the client is in the same namespaces."""
    peer, _, _ = _PEER.unpack(door.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    own, its = Path("/proc/self/ns"), Path(f"/proc/{peer}/ns")
    try:
        return all((own / name).readlink() == (its / name).readlink() for name in _NAMESPACES)
    except OSError:
        return False


def _import_main_of(module: str) -> bool:
    """Import what a module's `__main__` imports and leave that itself to be run; return whether it may be forked."""
    name = f"{module}.__main__"
    try:
        importlib.import_module(name)
    except (Exception, SystemExit):  # noqa: BLE001 - a start without a fork shows the fault to its caller
        traceback.print_exc(file=sys.stderr)
        return False
    del sys.modules[name]
    gc.collect()
    gc.freeze()
    return len(list(Path("/proc/self/task").iterdir())) == 1
