"""`python -m localnet`: bring chains and surfaces up for people and for the suite."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click

from localnet import chain_selection as chain_kinds
from localnet import setting_names
from localnet.chain_selection import LANES
from localnet.surface_names import SURFACES

# Commands that stand elsewhere: the module of each, and what the overview says of it.
_ELSEWHERE: Final[Mapping[str, tuple[str, str]]] = {
    "doctor": ("doctor", "Say which real nodes can run here, and how to get the others."),
    "fund": ("background", "Give an address on a chain USDC, or its native coin."),
    "hold": ("background_nodes", ""),
    "start": ("background", "Start real nodes in the background: all three chains, or some."),
    "status": ("background", "Ask each node that runs in the background for its newest block."),
    "stop": ("background", "End the nodes that run in the background."),
}
# Letters of what the overview says of a command.
_LINE: Final = 120


class _Lazy(click.Group):
    """Imports what starts nodes when it is used: help waits for no SDK."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted([*super().list_commands(ctx), *_ELSEWHERE])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name, or None."""
        if cmd_name not in _ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        command: Any = getattr(import_module(f"localnet.{_ELSEWHERE[cmd_name][0]}"), cmd_name)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the overview without importing the commands that it lists."""
        help_lines = {name: words for name, (_, words) in _ELSEWHERE.items() if words}
        help_lines |= {name: one.get_short_help_str(_LINE) for name, one in self.commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl(sorted(help_lines.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Chains and surfaces on this machine."""


class FaultType(click.ParamType[tuple[str, int]]):
    """`NAME@SEED`, a chain fault; the seed may be left out."""

    name = "name@seed"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Return name and seed."""
        if isinstance(value, tuple):
            return value
        name, _, seed = str(value).partition("@")
        if not name or not (seed or "0").isdecimal():
            self.fail(f"{value!r} is not NAME@SEED, for example unavailable@7", param, ctx)
        return name, int(seed or "0")


class SettingType(click.ParamType[tuple[str, str]]):
    """`NAME=VALUE`, a setting of the surfaces."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Return name and value."""
        if isinstance(value, tuple):
            return value
        name, equals, text = str(value).partition("=")
        if not name or not equals:
            self.fail(f"{value!r} is not NAME=VALUE", param, ctx)
        if not setting_names.is_known(name):
            self.fail(f"no service takes a setting {name}; nearest is {setting_names.nearest(name)}", param, ctx)
        return name, text


class ChainsType(click.ParamType[Mapping[str, str]]):
    """`KIND`, or `KIND,LANE=KIND`."""

    name = "chains"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Mapping[str, str]:
        """Return the kind of each lane's chain."""
        if isinstance(value, Mapping):
            return value
        try:
            return chain_kinds.parse(str(value))
        except ValueError as fault:
            self.fail(str(fault), param, ctx)


@main.command()
@click.option(
    "--chains",
    "kinds",
    type=ChainsType(),
    default="sim",
    show_default=True,
    help="sim, localnet, or localnet,LANE=sim.",
)
@click.option("--port-base", type=click.IntRange(0, 65000), help="First port; 0 picks free ones. Default: usual ports.")
@click.option(
    "--data-dir", type=click.Path(path_type=Path), default=Path("data"), show_default=True, help="Keys, logs."
)
@click.option("--mutant", help="Run its surface as this deliberately broken variant.")
@click.option("--chameleon", type=click.IntRange(0), help="Run the surfaces in the look of this seed.")
@click.option("--fault", "faults", type=FaultType(), multiple=True, help="Chain fault NAME@SEED, switched on at start.")
@click.option(
    "--lane", "lanes", type=click.Choice(LANES), multiple=True, default=LANES, help="Only these chains and lanes."
)
@click.option(
    "--surface",
    "surfaces",
    type=click.Choice(SURFACES),
    multiple=True,
    default=SURFACES,
    help="Only these surfaces. The control plane alone has no chains.",
)
@click.option(
    "--chains-only", is_flag=True, help="No surface: the chains alone, for a server of your own; binds no other port."
)
@click.option(
    "--companions/--no-companions",
    default=True,
    help="Whether what only some rows of the suite need comes along: a gateway, a rail and an agent with the limits "
    "that users meet and clocks of their own, and an edge host.",
)
@click.option("--addons/--no-addons", default=True, help="Whether the control plane's addons come along.")
@click.option("--setting", "settings", type=SettingType(), multiple=True, help="NAME=VALUE for the surfaces.")
@click.option("--block-seconds", type=click.FloatRange(0.01, 60), default=0.2, show_default=True, help="Block time.")
@click.option(
    "--algorand-mode",
    "block_mode",
    type=click.Choice(["steady", "dev", "rounds"]),
    default="steady",
    show_default=True,
    help="The simulated Algorand: blocks at intervals; as algod in DevMode; or ordinary rounds, where a payment lands "
    "two blocks later.",
)
@click.option(
    "--workers", type=click.IntRange(1, 16), default=1, show_default=True, help="Processes of rail and gateway each."
)
@click.option(
    "--nginx", "has_nginx", is_flag=True, help="nginx in front of the workers; without it the profile lists them."
)
@click.option(
    "--postgres", metavar="ADDRESS", help="PostgreSQL server, where each service gets a new database; else SQLite."
)
@click.option("--valkey", metavar="ADDRESS", help="Valkey server where workers share their limits, without a number.")
@click.option("--working-profile/--no-working-profile", default=True, help="Write ./weldproof.toml if none is there.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line when ready.")
def up(**options: Any) -> None:
    """Start all reference services on simulated chains or real nodes, until Ctrl-C.

    Prints the addresses and the places of the credentials. Exit codes: 0 ended by you, 2 usage, 3 a required program or
    node is missing, 4 a part did not start or ended unexpectedly.
    """
    from localnet.serving import up as serve  # noqa: PLC0415 - `--help` waits for nothing that it imports

    serve(**options)


if __name__ == "__main__":
    # `weldproof up` and `weldproof localnet …` come here, and help names what was typed.
    main(prog_name="weldproof" if sys.argv[1:2] == ["up"] else "weldproof localnet")
