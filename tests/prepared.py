"""A fork server for the services in tests: one parent for each module imports it once, and each start forks the parent.

`python -m reference.rail` spends its first seconds on imports, and tests start hundreds of services to show what only a
process shows: what it keeps, what a kill leaves, how it ends. Each of these is still a separate process, with its own
environment, folder, descriptors and exit status. They do not show what Python itself does before the module's first
line; a test of that starts `sys.executable`. A mutant is put in place after the fork, before the service that it breaks
is imported, as in a process started without a fork; it shares only the libraries.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import fcntl
import functools
import gc
import hashlib
import importlib
import json
import os
import runpy
import secrets
import select
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

_OURS = ("WP_", "S2CP_", "S2_", "WELDPROOF_")
_SEED = {"PYTHONHASHSEED": "any"}
_REQUEST_BYTES = 180_000
_MOST_DESCRIPTORS = 16
_FLOOR = 512  # descriptors of a request are kept from here on until they are put in their places below
_STATUS = struct.Struct("!i")
_PEER = struct.Struct("3i")
_CONNECTING_SECONDS = 60
# Programs that run others, and which.
_RUNNING_PARENTS = {"tests.reference.jumping": ("reference.rail", "reference.gateway")}

# Programs that change a service before it is imported, and whose libraries they share.
_BROKEN = {"reference.variants.mutants": ("reference.rail",)}


class Prepared:
    """A process that was forked; it is waited for and ended as by `subprocess.Popen`."""

    def __init__(self, pid: int, status: int) -> None:
        """Take its number, and the descriptor on which its parent tells how it ended."""
        self.pid = pid
        self.returncode: int | None = None
        self._status = status

    def poll(self) -> int | None:
        """Return how it ended, a signal as its negative number, or None while it runs."""
        return self._wait_for_status(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, at most so many seconds, and return how it ended.

        Raises:
            subprocess.TimeoutExpired: It still runs.
        """
        status = self._wait_for_status(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        return status

    def _wait_for_status(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], seconds)[0]:
            status_bytes = os.read(self._status, _STATUS.size)
            os.close(self._status)
            assert len(status_bytes) == _STATUS.size, "the parent of the prepared processes is gone"
            self.returncode = _STATUS.unpack(status_bytes)[0]
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs: its parent may have seen its end, and this one not yet."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.send_signal(signal.SIGKILL)


class _Parent:
    """A line to the process that imported a module, and forks."""

    def __init__(self, door: socket.socket) -> None:
        self._door = door
        self._asking = threading.Lock()

    def fork(self, request: Mapping[str, Any], fds: Sequence[int]) -> Prepared:
        """Start a process with these descriptors in the places that the request names."""
        reading, write_end = os.pipe()
        try:
            with self._asking:
                socket.send_fds(self._door, [json.dumps(request).encode()], [write_end, *fds])
                pid_bytes = self._door.recv(64)
        finally:
            os.close(write_end)
        assert pid_bytes, f"the imports of {request['module']} failed: see above"
        return Prepared(int(pid_bytes), reading)


@functools.cache
def shared_parents() -> tuple[str, int]:
    """Return the name of this run's parents, and a descriptor that ends when this process and its forks are gone.

    Workers that are forked after a first call have the same parents: each module is imported once for all of them.
    """
    end_pipe, _ = os.pipe()
    return secrets.token_hex(8), end_pipe


_PARENTS: dict[object, _Parent] = {}
_MAKING_LOCK = threading.Lock()  # tests that start several side by side do so in threads


def _parent(module: str, of_python: Mapping[str, str]) -> _Parent:
    key = (module, *sorted(of_python.items()))
    with _MAKING_LOCK:
        if key not in _PARENTS:
            _PARENTS[key] = _Parent(_connect(module, of_python))
        return _PARENTS[key]


def _address(module: str, of_python: Mapping[str, str]) -> str:
    """Return a parent's name among abstract sockets."""
    key = repr((module, *sorted(of_python.items())))
    return f"weldproof-tests-{shared_parents()[0]}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def _connect(module: str, of_python: Mapping[str, str]) -> socket.socket:
    """Connect to a parent, which the first who asks for it starts."""
    end_pipe = shared_parents()[1]
    address = f"\0{_address(module, of_python)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        if _is_first(listener, address):
            listener.listen()
            passed_fds = [listener.fileno(), end_pipe]
            words = [sys.executable, "-P", __file__, module, *map(str, passed_fds)]
            ours = {name: value for name, value in os.environ.items() if not name.startswith((*_OURS, "PYTHON"))}
            # It outlives this worker where others need it, and ends with the run.
            subprocess.Popen(words, env={**ours, **of_python}, pass_fds=passed_fds, stdin=subprocess.DEVNULL)
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    deadline = time.monotonic() + _CONNECTING_SECONDS
    while door.connect_ex(address) != 0:  # the other has its name and does not listen yet
        assert time.monotonic() < deadline, f"no process forks {module}"
        time.sleep(0.01)
    return door


def _is_first(listener: socket.socket, address: str) -> bool:
    try:
        listener.bind(address)
    except OSError as fault:
        if fault.errno != errno.EADDRINUSE:
            raise
        return False
    return True


def start(
    module: str,
    *words: str,
    env: Mapping[str, str],
    stdout: IO[Any],
    stderr: IO[Any],
    pass_fds: Sequence[int] = (),
    cwd: Path | None = None,
    stdin: IO[Any] | None = None,
) -> Prepared | subprocess.Popen[bytes]:
    """Start what `python -m MODULE WORDS…` runs, with this environment and no other descriptors.

    With other settings of Python itself in the environment, the process is started without a fork. If only the seed for
    hashes differs, a separate parent is forked.
    """
    if {**_of_python(env), **_SEED} != {**_of_python(os.environ), **_SEED}:
        command = [sys.executable, "-m", module, *words]
        return subprocess.Popen(command, env=env, cwd=cwd, pass_fds=pass_fds, stdin=stdin, stdout=stdout, stderr=stderr)
    for stream in (stdout, stderr):
        stream.flush()
    request = {
        "module": module,
        "words": words,
        "env": dict(env),
        "cwd": str(cwd or Path.cwd()),
        "places": [1, 2, *pass_fds, *([] if stdin is None else [0])],
    }
    fds = [stdout.fileno(), stderr.fileno(), *pass_fds, *([] if stdin is None else [stdin.fileno()])]
    return _parent(module, _of_python(env)).fork(request, fds)


def ready(module: str, *words: str) -> tuple[Prepared | subprocess.Popen[bytes], dict[str, Any]]:
    """Start what `python -m MODULE WORDS…` runs, and return it with the JSON object that it prints when it is ready."""
    assert sys.__stderr__ is not None
    reading, write_end = os.pipe()
    with os.fdopen(reading, encoding="utf-8") as ready_pipe:
        with os.fdopen(write_end, "wb") as stdout:
            process = start(module, *words, env=os.environ, stdout=stdout, stderr=sys.__stderr__)
        line = ready_pipe.readline()
    assert line, f"{module} ended before it was ready"
    return process, json.loads(line)


@contextlib.contextmanager
def run_ready(module: str, *words: str) -> Iterator[dict[str, Any]]:
    """Run what `python -m MODULE WORDS…` serves, and yield the JSON object that it prints; on leaving, end it well."""
    process, ready_line = ready(module, *words)
    try:
        yield ready_line
    finally:
        process.terminate()
        assert process.wait(600) == 0


def run(
    module: str,
    *words: str,
    env: Mapping[str, str],
    pass_fds: Sequence[int] = (),
    cwd: Path | None = None,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Run what `python -m MODULE WORDS…` runs to its end, and return its status and what it wrote.

    Raises:
        subprocess.TimeoutExpired: It still ran after so many seconds; it was killed.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = start(module, *words, env=env, stdout=out, stderr=err, pass_fds=pass_fds, cwd=cwd)
        try:
            process.wait(timeout)
        finally:
            process.kill()
            status = process.wait()
        texts = [os.pread(written.fileno(), os.fstat(written.fileno()).st_size, 0).decode() for written in (out, err)]
    return subprocess.CompletedProcess([module, *words], status, *texts)


def script(path: Path, module: str) -> None:
    """Write a program that does what `python -m MODULE` does, for shells and others that start programs by name.

    Signals are not passed on to what it starts: the program is not meant to be interrupted.
    """
    of_python = _of_python(os.environ)
    _parent(module, of_python)
    door = Path(__file__).with_name("prepared_door.py")
    words = [sys.executable, "-I", "-S", str(door), _address(module, of_python), module]
    path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', "utf-8")
    path.chmod(0o755)


def _of_python(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith("PYTHON")}


def _prepare(module: str) -> None:
    """Import what the module's `__main__` imports, and leave that itself to be run."""
    sys.path.insert(0, str(Path.cwd()))
    if module == "conformance":  # its __main__ is the command
        importlib.import_module("conformance.cli")
    for program in () if module == "conformance" else _RUNNING_PARENTS.get(module, (module,)):
        importlib.import_module(f"{program}.__main__")
        del sys.modules[f"{program}.__main__"]
    for service in _BROKEN.get(module, ()):
        importlib.import_module(f"{service}.__main__")
    importlib.import_module("tests.prepared_children").prepare(module)
    if module in _BROKEN:
        importlib.import_module("localnet.prepared.module_reloading").forget_services()
    threads = [*Path("/proc/self/task").iterdir()]
    assert len(threads) == 1, f"{module} starts threads when it is imported: it cannot be forked"
    del sys.path[0]
    gc.collect()
    gc.freeze()


class _Forking:
    """The process that imported a module: it forks for its clients, until the run ends."""

    def __init__(self, listener: socket.socket, end_pipe: int) -> None:
        self._listening = listener
        self._ending = end_pipe
        self._running: dict[int, tuple[int, int]] = {}
        self._doors: dict[int, socket.socket] = {}
        self._asked = select.poll()  # without a descriptor of its own, which a child would close by its number
        for fd in (listener.fileno(), end_pipe):
            self._asked.register(fd, select.POLLIN)

    def fork_on_request(self) -> tuple[dict[str, Any], list[int]] | None:
        """Return in each child, with its request and descriptors; return None when no client is left."""
        while True:
            for ready, _ in self._asked.poll():
                if ready == self._ending:
                    return None
                if ready == self._listening.fileno():
                    self._open()
                elif ready in self._running:
                    self._tell_end(ready)
                else:
                    fork_request = self._start(ready)
                    if fork_request is not None:
                        return fork_request

    def _open(self) -> None:
        """Let in who is the user whose tests these are: the name is no secret."""
        door, _ = self._listening.accept()
        user = _PEER.unpack(door.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))[1]
        if user == os.getuid():
            self._doors[door.fileno()] = door
            self._asked.register(door.fileno(), select.POLLIN)

    def _start(self, ready: int) -> tuple[dict[str, Any], list[int]] | None:
        payload, fds, _, _ = socket.recv_fds(self._doors[ready], _REQUEST_BYTES, _MOST_DESCRIPTORS)
        if not payload:
            self._asked.unregister(ready)
            self._doors.pop(ready).close()
            return None
        pid = os.fork()
        if pid == 0:
            for watched_socket in (self._listening, *self._doors.values()):
                watched_socket.detach()
            return json.loads(payload), fds[1:]
        for fd in fds[1:]:
            os.close(fd)
        pidfd = os.pidfd_open(pid)
        self._running[pidfd] = (pid, fds[0])
        self._asked.register(pidfd, select.POLLIN)
        self._doors[ready].send(str(pid).encode())
        return None

    def _tell_end(self, ready: int) -> None:
        pid, status = self._running.pop(ready)
        self._asked.unregister(ready)
        os.close(ready)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with contextlib.suppress(BrokenPipeError):  # the client no longer waits
            os.write(status, _STATUS.pack(code))
        os.close(status)


def _become(request: Mapping[str, Any], fds: Sequence[int]) -> None:
    """Set up the forked process as if it had been started without a fork."""
    kept_fds = [fcntl.fcntl(fd, fcntl.F_DUPFD, _FLOOR) for fd in fds]
    os.closerange(3, _FLOOR)
    for fd, place in zip(kept_fds, request["places"], strict=True):
        os.dup2(fd, place)
        os.close(fd)
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    os.chdir(request["cwd"])
    sys.path.insert(0, request["cwd"])
    sys.argv = [request["module"], *request["words"]]


def _run_to_the_end(module: str) -> None:
    """Run the module as the program; one that ends by itself need not take apart, at its exit, what was imported."""
    code = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        code = end.code or 0
    vars(threading)["_shutdown"]()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    _prepare(sys.argv[1])
    _request = _Forking(socket.socket(fileno=int(sys.argv[2])), int(sys.argv[3])).fork_on_request()
    if _request is not None:
        _become(*_request)
        _run_to_the_end(_request[0]["module"])
