"""The process that a command of the target profile starts: it has a service forked, and passes on signals and end.

`python -I -S fork_client.py SOCKET MODULE WORDS…`, with few imports, so that it starts at once. If no process listens
at the socket any more, or the service must be started without a fork, it becomes `python -m MODULE WORDS…` itself.
When it is killed, the connection closes, and the process that forks then kills the service.
"""

import os
import signal
import socket
import sys

_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def _request(words: list[str]) -> bytes:
    variables = [name + b"=" + value for name, value in os.environb.items()]
    folder = os.getcwdb()  # noqa: PTH109 - pathlib takes as long to import as all the rest
    return b"\0".join([folder, b"0 1 2", str(len(words)).encode(), *map(os.fsencode, words), *variables])


def _connect(path: str, words: list[str]) -> socket.socket | None:
    """Return the connection that reports the service's end, or None if it was not forked."""
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        door.connect(path)
        socket.send_fds(door, [_request(words)], [0, 1, 2])
        if door.recv(64).isdigit():
            return door
    except OSError:
        pass
    door.close()
    return None


def _main(path: str, words: list[str]) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    door = _connect(path, words)
    if door is None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
        os.execv(sys.executable, [sys.executable, "-m", *words])  # noqa: S606 - as the profile's reader asked
    for number in _PASSED_ON:
        signal.signal(number, lambda received, _: door.send(str(int(received)).encode()))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
    status = _status(door)
    if status < 0:
        if -status in _PASSED_ON:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def _status(door: socket.socket) -> int:
    """Return how the service ended; without a message the process that forks has ended, and killed the service."""
    try:
        return int(door.recv(64) or -signal.SIGKILL)
    except OSError:
        return -signal.SIGKILL


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2:])
