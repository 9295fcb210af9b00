"""The base of every table of the profile: no unknown keys, and secrets by reference only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo, model_validator

from conformance.text.files import read_text


class ProfileError(Exception):
    """The target profile cannot be used; the text names the key and the remedy."""


class Table(BaseModel):
    """A table of the profile. An unknown key is an error, and a table is immutable."""

    # A misspelled key would otherwise be ignored, and its rows would be judged by another value.
    model_config = ConfigDict(extra="forbid", frozen=True)


def _from_folder(path: Path, info: ValidationInfo) -> Path:
    folder: Path | None = (info.context or {}).get("folder")
    return path if folder is None else folder / path


# A path in a profile. A relative one is relative to the profile's folder, which the validation gets as its context.
ProfilePath: TypeAlias = Annotated[Path, AfterValidator(_from_folder)]


class Secret(Table):
    """A secret by reference: exactly one of an environment variable or a file.

    Attributes:
        env: Name of the environment variable that holds it.
        file: Path of the file that holds it, and nothing else; a relative one is relative to the profile's folder.
    """

    env: str | None = None
    file: ProfilePath | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        # With two sources it would be unclear which one counts. A value in the profile itself is
        # not possible, so that a profile can be shared.
        if (self.env is None) == (self.file is None):
            raise ValueError("give exactly one of env or file")
        return self

    def read(self) -> str:
        """Return the secret's text.

        Raises:
            ProfileError: The variable is not set or the file cannot be read.
        """
        if self.env is not None:
            value = os.environ.get(self.env)
            if not value:
                raise ProfileError(f"environment variable {self.env} is not set")
            return value
        try:
            return read_text(Path(str(self.file))).strip()
        except OSError as fault:
            raise ProfileError(f"cannot read {self.file}: {fault.strerror}") from fault
        except ValueError:
            # The original message is not shown, because it may contain the secret.
            raise ProfileError(f"cannot read {self.file}: it is too large, or not UTF-8") from None
