"""The children of a forked launcher are forks, too: a stack's services, whose modules the launcher's parent imported.

A stack has ten services, and a command that brings up its own also starts the launcher; each would import for a second.
A command imports its modules when it is named, and a run imports every check. A forked command has imported all of them
before, and so has a forked pytest, in which our plugin runs the command. Each of them is still a separate process, with
its own session, environment, folder and descriptors, and a child of the process that started it. Processes that are
started in another way are not forked.

uvloop starts processes past Python: a prepared command has Python's own event loop, its services have theirs.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import fcntl
import gc
import importlib
import os
import pkgutil
import runpy
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

_ADDONS = ("federation_validator", "zkp_receipt", "atb_verifier")
_SERVICES = (
    *("sim.algorand", "sim.base", "sim.solana"),
    *("reference.rail", "reference.gateway", "reference.agent", "reference.control_plane"),
    *(f"reference.addons.{name}" for name in _ADDONS),
)
# What each prepared program may fork, beside itself.
_STACK = ("localnet.prepared", *_SERVICES)
_RUN = ("localnet", *_STACK)
PROGRAMS = {
    "localnet": _STACK,
    "conformance": _RUN,
    "pytest": ("conformance",),
    "tests.outside.judging": ("conformance", *_RUN, "tests.outside.judged_payer"),
}
# Modules that the reference imports if a PostgreSQL server is set, and the programs for which one may be set.
_OF_POSTGRES = ("sqlalchemy.dialects.postgresql.psycopg", "psycopg")
_STORING_PACKAGES = ("reference", "tests")
_FLOOR = 512
_CODE_OF_A_FAULT = 1

# Arguments of CPython's fork_exec, by their places, which are the same in every version that we support.
_WORDS, _CLOSES, _KEPT_FDS, _FOLDER, _ENVIRONMENT = 0, 2, 3, 4, 5
_STDIN, _STDOUT, _STDERR, _ERROR_PIPE = 6, 9, 11, 13
_NEW_SESSION = 15


def prepare(program: str) -> None:
    """Import what a program starts, and from now on fork it for each start."""
    if program.partition(".")[0] in _STORING_PACKAGES:
        for module in _OF_POSTGRES:
            importlib.import_module(module)
    known_modules = PROGRAMS.get(program, ())
    for module in known_modules:
        if module != "conformance":  # its __main__ is the command
            importlib.import_module(f"{module}.__main__")
            del sys.modules[f"{module}.__main__"]
    if "conformance" in {program, *known_modules}:
        _import_commands()
    if known_modules:
        _fork_instead(known_modules)


def _fork_instead(known_modules: Sequence[str]) -> None:
    original: Callable[..., int] = vars(subprocess)["_fork_exec"]

    def fork_exec(*arguments: Any) -> int:
        words = [os.fsdecode(word) for word in arguments[_WORDS]]
        if (
            words[:2] != [sys.executable, "-m"]
            or words[2] not in known_modules
            or not arguments[_CLOSES]
            or arguments[_FOLDER]
        ):
            return original(*arguments)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        pid = os.fork()
        if pid == 0:
            _leave(arguments)
            contextvars.Context().run(_run, words[2:])
        return pid

    setattr(subprocess, "_fork_exec", fork_exec)  # noqa: B010 - it is no public name


def _import_commands() -> None:
    """Import what every command needs at work, which `--help` does not wait for, and every check; spare it uvloop."""
    commands = importlib.import_module("conformance.cli")
    for module in pkgutil.iter_modules(commands.__path__, "conformance.cli."):
        importlib.import_module(module.name)
    importlib.import_module("conformance.engine.check_loading").load_checks()
    own_loop = SimpleNamespace(new_event_loop=asyncio.new_event_loop)
    vars(importlib.import_module("conformance.processes.interrupt"))["uvloop"] = own_loop


def _leave(arguments: Sequence[Any]) -> None:
    """Drop what belongs to the process that forked, and take the descriptors and the environment that it gave."""
    gc.freeze()  # what the other process has open is closed below, by its number, and never by an object's end
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__  # pytest had others
    _forget_the_loop()
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    atexit._clear()
    vars(weakref.finalize)["_registry"].clear()  # folders of the other process stay
    if arguments[_NEW_SESSION]:
        os.setsid()
    places = {0: arguments[_STDIN], 1: arguments[_STDOUT], 2: arguments[_STDERR]}
    target_fds = {place: fcntl.fcntl(fd, fcntl.F_DUPFD, _FLOOR) for place, fd in places.items() if fd != -1}
    kept_fds = sorted(fd for fd in arguments[_KEPT_FDS] if fd > 2 and fd != arguments[_ERROR_PIPE])
    for place, fd in target_fds.items():
        os.dup2(fd, place)
    for below, above in zip([2, *kept_fds], [*kept_fds, os.sysconf("SC_OPEN_MAX")], strict=True):
        os.closerange(below + 1, above)
    for fd in kept_fds:
        os.set_inheritable(fd, True)
    if arguments[_ENVIRONMENT] is not None:
        os.environ.clear()
        for variable in arguments[_ENVIRONMENT]:
            name, _, value = os.fsdecode(variable).partition("=")
            os.environ[name] = value
        time.tzset()


def _forget_the_loop() -> None:
    signal.set_wakeup_fd(-1)
    loop = asyncio._get_running_loop()
    task = None if loop is None else asyncio.current_task(loop)
    if loop is not None and task is not None:
        asyncio.tasks._leave_task(loop, task)
    asyncio._set_running_loop(None)
    asyncio.set_event_loop_policy(None)


def _run(words: Sequence[str]) -> None:
    """Run a module as the program, and end as a process without a fork does."""
    sys.argv = [*words]
    code = 0
    try:
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as fault:  # noqa: BLE001 - as the interpreter does
        sys.excepthook(type(fault), fault, fault.__traceback__)
        code = _CODE_OF_A_FAULT
    try:
        vars(threading)["_shutdown"]()
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:
        os._exit(code)
