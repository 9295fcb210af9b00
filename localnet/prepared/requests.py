"""What a process is asked for: one message of words with NUL between them, which comes with its descriptors.

`fork_client.py` writes the same form, and imports nothing of ours.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 180_000
MOST_DESCRIPTORS = 16
# Programs that run a service in another look, `MODULE LOOK SERVICE …`.
_VARIANTS = ("reference.variants.mutants", "reference.variants.chameleon")
# The answer in place of a process's number: the client starts the process itself.
ANEW = b"anew"
# Letters of a process's name that the system keeps.
_NAME_LETTERS = 15


@dataclass(frozen=True, slots=True)
class Request:
    """A process to start as `python -m WORDS…`.

    Attributes:
        words: Module and arguments.
        environment: Its whole environment.
        folder: Its working directory.
        places: The numbers at which it has the descriptors that come with the request.
    """

    words: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    places: tuple[int, ...]

    @property
    def is_variant(self) -> bool:
        """Whether it is a service in another look, which is put on before the service's own modules are imported."""
        return self.words[0] in _VARIANTS

    @property
    def service(self) -> str:
        """The module of the service; nothing where a variant names none."""
        return (self.words[2] if len(self.words) > 2 else "") if self.is_variant else self.words[0]

    def message(self) -> bytes:
        """Return the request as bytes."""
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        parts = [str(self.folder), " ".join(map(str, self.places)), str(len(self.words)), *self.words, *variables]
        return b"\0".join(map(os.fsencode, parts))

    @classmethod
    def read(cls, message: bytes) -> Request:
        """Return the request of a message."""
        folder, places, count, *texts = map(os.fsdecode, message.split(b"\0"))
        words, variables = texts[: int(count)], texts[int(count) :]
        environment = {name: value for name, _, value in (one.partition("=") for one in variables)}
        return cls(tuple(words), environment, Path(folder), tuple(map(int, places.split())))


def process_name(service: str) -> str:
    """Return what the system calls the forked process of a service, such as `reference.rail`."""
    return service.removeprefix("reference.").removeprefix("addons.")[:_NAME_LETTERS]


def of_python(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that configure Python itself."""
    return {name: value for name, value in environment.items() if name.startswith("PYTHON")}
