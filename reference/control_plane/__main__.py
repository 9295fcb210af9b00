"""`weldproof-controlplane`: serve the control plane."""

from __future__ import annotations

import reference.starting  # noqa: F401 - before all that is imported for it

# isort: split

import os

import click

from reference.control_plane.runtime import running
from reference.control_plane.settings import ControlPlaneSettings
from reference.web import serving
from reference.web.settings import read_settings

# Names of health addresses are looked up in the loop's own threads, half of which may wait for a resolver: by its four,
# two names that nobody answers for would hold every other one up.
_THREADS = "64"


@click.command()
def main() -> None:
    """Serve the control plane. Settings come from the environment (S2CP_…, WP_…); its secrets are files."""
    settings = read_settings(ControlPlaneSettings)
    os.environ.setdefault("UV_THREADPOOL_SIZE", _THREADS)
    serving.serve_surface(
        "S2CP", settings, lambda: running(settings), port=settings.port, fd=settings.fd, host="S2CP_HOST"
    )


if __name__ == "__main__":
    main(prog_name="weldproof-controlplane")
