"""The command `weldproof`."""

from __future__ import annotations

import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from importlib.metadata import version
from typing import Any, NoReturn, TextIO, cast

import click

from conformance import extras
from conformance.cli.closed_stdout import SIGPIPE_CODE, discard_output
from conformance.cli.suggestion import SuggestingGroup
from conformance.outcome import Exit, PaidExit
from conformance.text.target_text_escaping import visible
from conformance.text.workflow_command_escaping import CommandFreeStream

_COMMANDS = {
    "demo": "Show how the suite finds a fault in a reference server with one broken rule.",
    "check": "Test a server for ten seconds, or a payer for thirty, without a profile.",
    "up": "Start all reference services on simulated chains or real nodes.",
    "run": "Run the suite and report a verdict per requirement.",
    "watch": "Run failed checks again each time the target restarts.",
    "list": "List requirements and checks.",
    "explain": "Describe a requirement and how it is checked.",
    "replay": "Repeat one recorded exchange with a fresh payment.",
    "report": "Show the report of a run, or compare two runs.",
    "localnet": "Start, stop and fund real nodes: Anvil, surfpool, algod.",
    "receipt": "Explain, verify and compare receipts, offline.",
    "message": "Verify, explain and sign HTTP messages (RFC 9421), offline.",
    "vectors": "List and check the test vectors; run any verifier on them.",
    "pay": "Pay for one call and keep the receipt.",
    "tenant": "Create and change tenants of a gateway.",
    "audit": "Verify the audit log of a control plane, independently of it.",
    "listen": "Receive, verify, print and forward webhooks on this machine.",
    "init": "Write a target profile by probing a server.",
    "doctor": "List missing programs and packages, and what each one disables.",
    "bench": "Measure the speed of the reference against baselines and other servers.",
    "selftest": "Run the suite against broken references to show that it finds each fault.",
}


# Exit codes of a command that a signal ended; `weldproof pay` has its own one after a payment.
_INTERRUPTED_CODES = (Exit.INTERRUPTED, PaidExit.ANSWER_MISSING)


class _LazyGroup(SuggestingGroup):
    """The group of all commands; imports a command only when it is used.

    A command that fails by itself never ends with the exit code of a breach. The codes are 2 if an extra is not
    installed, 130 after an interrupt, 4 after a fault of the suite, and 141 if its output was closed early. 141 is what
    a shell shows for SIGPIPE.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Run the named command and turn exceptions into exit codes."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except ModuleNotFoundError as fault:
            # A missing module of an extra is an installation to complete. Any other missing module
            # is a fault of the suite.
            reason = extras.reason(fault)
            if reason is None:
                _report_suite_fault(ctx)
            click.echo(f"Error: {reason}", err=True)
            ctx.exit(Exit.USAGE)
        except KeyboardInterrupt:
            click.echo("weldproof: interrupted", err=True)
            ctx.exit(Exit.INTERRUPTED)
        except BrokenPipeError:
            discard_output()
            ctx.exit(SIGPIPE_CODE)
        except Exception:  # noqa: BLE001 - an exception of the suite is not a breach of the target
            _report_suite_fault(ctx)

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command and end the process.

        Standard output and standard error contain no commands of a build service.
        """
        try:
            with redirect_stdout(_without_commands(sys.stdout)), redirect_stderr(_without_commands(sys.stderr)):
                return super().main(*args, **extra)
        except SystemExit as end:
            # An interrupted run must end at once. The interpreter would first wait for threads,
            # such as those of a chain's SDK, which may hang on a node. The module is looked up and
            # not imported: only commands that start such work have loaded it.
            if end.code in _INTERRUPTED_CODES and "conformance.processes.interrupt" in sys.modules:
                import_module("conformance.processes.interrupt").end_interrupted(end.code)
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        # Importing the command `list` binds that name in this package, so the built-in `list` is not used here.
        return [*_COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - same
        if cmd_name not in _COMMANDS:
            return None
        command: Any = import_module(f"conformance.cli.{cmd_name}").command
        # A module of this package that is not a command has no `command`, or one of another type.
        if not isinstance(command, click.Command):
            return None
        command.short_help = _COMMANDS[cmd_name]
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - same
        with formatter.section("Commands"):
            formatter.write_dl([*_COMMANDS.items()])


def _without_commands(stream: TextIO) -> TextIO:
    return cast("TextIO", CommandFreeStream(stream))


def _report_suite_fault(ctx: click.Context) -> NoReturn:
    words = "this is a fault of the suite, not of the target; please send this text to the maintainers of Weldproof"
    click.echo(f"{visible(traceback.format_exc())}weldproof {version('weldproof')}: {words}", err=True)
    ctx.exit(Exit.SUITE_FAULT)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="weldproof", prog_name="weldproof")
def main() -> None:
    """Conformance suite for services that take welded USDC payments and answer with signed receipts."""
