"""`weldproof-agent`: serve the verifiable-comms agent."""

from __future__ import annotations

import sys

import click

from reference.agent.runtime import running
from reference.agent.settings import AgentSettings
from reference.web import serving
from reference.web.settings import EXIT_USAGE, Misconfigured, read_settings


@click.command()
def main() -> None:
    """Serve the verifiable-comms agent. Settings come from the environment (WP_…)."""
    settings = read_settings(AgentSettings)
    serving.configure_logs(settings.log_level)
    try:
        serving.run(lambda: running(settings), host=settings.bind, port=settings.agent_port, fd=settings.agent_fd)
    except (Misconfigured, ValueError) as fault:
        click.echo(str(fault), err=True)
        sys.exit(EXIT_USAGE)


if __name__ == "__main__":
    main(prog_name="weldproof-agent")
