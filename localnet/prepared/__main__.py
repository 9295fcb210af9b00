"""`python -m localnet.prepared FD`: fork services for the clients of a listening socket."""

from __future__ import annotations

import fcntl
import gc
import os
import runpy
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from localnet.prepared.forking import Forking
from localnet.prepared.module_reloading import forget_services
from localnet.prepared.requests import Request, process_name

# Descriptors of a request are kept from here on until they are put in their places below.
_FLOOR = 256
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> None:
    """Fork until the standard input ends, and be each process that was forked."""
    # This process ends with its starter alone, and nothing is sent in vain to one that still becomes its service.
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    gc.disable()
    fork = Forking(socket.socket(fileno=int(sys.argv[1]))).serve_until_forked()
    if fork is not None:
        _become(*fork)
        if fork[0].is_variant:
            forget_services()
        runpy.run_module(fork[0].words[0], run_name="__main__", alter_sys=True)


def _become(request: Request, fds: Sequence[int]) -> None:
    """Set up the forked process as if it had been started without a fork."""
    os.setsid()
    high_fds = [fcntl.fcntl(fd, fcntl.F_DUPFD, _FLOOR) for fd in fds]
    os.closerange(3, _FLOOR)
    for fd, place in zip(high_fds, request.places, strict=True):
        os.dup2(fd, place)
        os.close(fd)
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    os.chdir(request.folder)
    sys.path[0] = str(request.folder)
    sys.argv = [*request.words]
    Path("/proc/self/comm").write_text(process_name(request.service), "ascii")
    gc.set_threshold(*_GC_THRESHOLDS)
    gc.enable()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


# What an import may have lifted: each process starts as Python does.
_GC_THRESHOLDS = gc.get_threshold()

if __name__ == "__main__":
    main()
