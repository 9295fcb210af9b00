"""`weldproof-agent`: serve the verifiable-comms agent."""

from __future__ import annotations

import reference.deferred_gc  # noqa: F401 - before all that is imported for it

# isort: split

import click

from reference.agent.runtime import open_agent
from reference.agent.settings import AgentSettings
from reference.web.control_plane_link import surface_serving
from reference.web.settings import read_settings, server_option


@click.command()
@server_option
def main(server: str | None) -> None:
    """Serve the verifiable-comms agent. Settings come from the environment (WP_…, S2_HUB_…).

    It keeps no database: A2A tasks are in the memory of this process for an hour. Several processes on one socket share
    everything but these, so a client that continues A2A tasks must reach the process that has them.
    """
    settings = read_settings(AgentSettings, server=server)
    surface_serving.serve(
        lambda _: open_agent(settings),
        settings,
        "agent",
        settings="WP_AGENT",
        kind="agent",
        port=settings.agent_port,
        fd=settings.agent_fd,
    )


if __name__ == "__main__":
    main(prog_name="weldproof-agent")
