"""Settings every surface shares, read from the environment only (specification 9)."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import click
from pydantic import BeforeValidator, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from reference.protocol.networks import add_local_networks
from reference.protocol.service_word import ServiceWord

EXIT_USAGE = 2
HYPERCORN, UVICORN = "hypercorn", "uvicorn"
_SERVER_HINT = f"give {HYPERCORN} or {UVICORN}"
_REFUSED_SERVERS = {
    "granian": "granian answers broken framing by itself, without the service's error body and request id, and has no "
    f"place where that could be changed; {_SERVER_HINT}"
}
_LISTEN_ADDRESS = re.compile(r"(?:([^:\s\[\]]+)|\[([0-9A-Fa-f:.]+)\]):(\d+)")
_STORE_ADDRESS = re.compile(r"(valkey|redis)s?://[^/]")
SettingsType = TypeVar("SettingsType", bound=BaseSettings)


def _switch(value: object) -> object:
    return {"on": True, "off": False}.get(value, value) if isinstance(value, str) else value


def _list(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _listen_address(value: object) -> object:
    """Split `host:port` or `[host]:port`."""
    if not isinstance(value, str):
        return value
    match = _LISTEN_ADDRESS.fullmatch(value)
    if match is None:
        raise ValueError("give host:port, and a host of IPv6 in brackets")
    return match[1] or match[2], int(match[3])


# Breaking changes that an operator may enable early, each by a name (P-GW-03). At present there are no such changes.
FEATURES: frozenset[str] = frozenset()
Switch = Annotated[bool, BeforeValidator(_switch), Field(strict=True)]
ListenAddress = Annotated[tuple[str, Annotated[int, Field(ge=0, le=65535)]], NoDecode, BeforeValidator(_listen_address)]
CommaList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_list)]


# On the command of every service; the setting is `WP_SERVER`.
server_option = click.option(
    "--server",
    metavar=f"[{HYPERCORN}|{UVICORN}]",
    help=f"The HTTP server, instead of WP_SERVER; {HYPERCORN} by default. docs/servers.md compares them.",
)


class Misconfigured(Exception):
    """A surface cannot start with its settings; the text names the setting."""


@contextmanager
def name_setting(setting: str) -> Iterator[None]:
    """Name the setting if a file that it names cannot be used.

    Raises:
        Misconfigured: The file cannot be used.
    """
    try:
        yield
    except (OSError, ValueError) as fault:
        raise Misconfigured(f"{setting}: {fault}") from fault


class CommonSettings(BaseSettings):
    """Settings of section 9 that all services read."""

    model_config = SettingsConfigDict(env_prefix="WP_", env_ignore_empty=True, extra="ignore", frozen=True)

    service_word: str = "Weldproof"
    mode: Literal["test", "live"] = "test"
    bind: str = "127.0.0.1"
    trusted_proxies: CommaList = ()
    features: CommaList = ()
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    clock_offset_file: Path | None = None
    skew_seconds: int = Field(default=60, ge=0)
    rate_limits: Switch = True
    # Secret, because an address may contain a password.
    rate_store: SecretStr | None = None
    rate_store_password_file: Path | None = None
    body_limit: int = Field(default=65536, ge=1)
    server: str = HYPERCORN
    drain_seconds: float | None = Field(default=None, ge=0, le=600)
    # Few enough that one round of the event loop stays below 50 ms, with which a refusal and health are answered.
    work_limit: int = Field(default=128, ge=1)
    # More, because a paid call waits for its chain for seconds, which costs no processor time.
    paid_work_limit: int = Field(default=1024, ge=1)
    request_log: Switch | None = None
    local_networks: Path | None = None

    @property
    def effective_drain_seconds(self) -> float:
        """How long calls are served after the signal to end: by default 1 s, and in test mode not at all."""
        if self.drain_seconds is not None:
            return self.drain_seconds
        return 1.0 if self.mode == "live" else 0.0

    @property
    def logs_requests(self) -> bool:
        """Whether each call has a line in the log: by default in live mode, at the levels `debug` and `info`."""
        is_on = self.mode == "live" if self.request_log is None else self.request_log
        return is_on and self.log_level in {"debug", "info"}

    @field_validator("local_networks")
    @classmethod
    def _are_added(cls, path: Path | None) -> Path | None:
        # Added here, because the settings that are validated next name networks by their keys.
        if path is not None:
            try:
                add_local_networks(path)
            except OSError as fault:
                raise ValueError(str(fault)) from fault
        return path

    @field_validator("rate_store")
    @classmethod
    def _is_a_store(cls, address: SecretStr | None) -> SecretStr | None:
        if address is not None and _STORE_ADDRESS.match(address.get_secret_value()) is None:
            raise ValueError(
                "give valkey://host:port/number, or valkeys:// with TLS; redis:// and rediss:// are the same"
            )
        return address

    @field_validator("server")
    @classmethod
    def _is_offered(cls, name: str) -> str:
        if name not in {HYPERCORN, UVICORN}:
            raise ValueError(_REFUSED_SERVERS.get(name, _SERVER_HINT))
        return name

    @field_validator("service_word")
    @classmethod
    def _is_a_word(cls, word: str) -> str:
        return ServiceWord(word).word

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(str(ip_network(text)) for text in texts)

    @field_validator("features")
    @classmethod
    def _are_known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [name for name in names if name not in FEATURES]
        if unknown:
            known_features = (
                f"there are {', '.join(sorted(FEATURES))}" if FEATURES else "at present there are no features"
            )
            raise ValueError(f"no feature is named {', '.join(unknown)}; {known_features}")
        return names

    @model_validator(mode="after")
    def _live_is_strict(self) -> Self:
        # Both switches are for tests: in production one moves the time of expiry, the other admits floods.
        if self.mode == "live" and (self.clock_offset_file is not None or not self.rate_limits):
            raise ValueError("WP_MODE: live mode refuses WP_CLOCK_OFFSET_FILE and WP_RATE_LIMITS=off")
        return self

    @property
    def word(self) -> ServiceWord:
        """The service word."""
        return ServiceWord(self.service_word)

    def proxies(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """Return the networks whose `X-Forwarded-For` is believed (P-CV-19)."""
        return tuple(ip_network(text) for text in self.trusted_proxies)


def read_settings(kind: type[SettingsType], **overrides: Any) -> SettingsType:
    """Read settings from the environment, or end the program with status 2 and one line that names the setting.

    Args:
        kind: Which settings.
        overrides: Values that replace the environment's, by member; None uses the environment's value.
    """
    try:
        return kind(**{name: value for name, value in overrides.items() if value is not None})
    # One line for operators instead of a report of the validation library.
    except ValidationError as fault:
        # Without the input: a setting may be a secret, and the line goes to a log.
        first = fault.errors(include_input=False, include_url=False)[0]
        place = "_".join(str(part) for part in first["loc"]).upper()
        prefix = str(kind.model_config.get("env_prefix", ""))
        whole = {field.validation_alias for field in kind.model_fields.values()}
        name = place if not place or place.startswith(prefix) or place in whole else prefix + place
        sentence = first["msg"].removeprefix("Value error, ")
        # A rule over several settings names them itself.
        click.echo(f"{name}: {sentence}" if first["loc"] else sentence, err=True)
        sys.exit(EXIT_USAGE)
