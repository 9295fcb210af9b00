"""Findings of `weldproof doctor` about a target profile: whether its webhook destinations can receive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from conformance.cli.doctor.finding import Finding
from conformance.cli.targets import load_named_profile
from conformance.target import Profile, ProfileError
from conformance.webhook_receiver.inbox import listening_address
from conformance.webhook_receiver.raw_receiver import CannotListen, bind_sockets


def check_named_destinations(config: Path | None) -> Iterator[Finding]:
    """Return findings about the destinations of a profile, or of ./weldproof.toml; none if neither exists.

    Raises:
        UsageFault: The profile cannot be used.
    """
    profile = load_named_profile(config, (), is_reference=False)
    return iter(()) if profile is None else check_destinations(profile)


def check_destinations(profile: Profile) -> Iterator[Finding]:
    """Yield for each webhook destination whether its secret is readable and its port is free."""
    disables = "the webhook rows of its tenant (WH-DELIV, WH-SIG, WH-BODY)"
    for name, destination in profile.webhook.destinations.items():
        title = f"webhook destination {name}"
        try:
            destination.secret.read()
            host, port = listening_address(destination)
            # Binding is the only reliable test; the sockets are closed at once.
            for bound_socket in bind_sockets(host, port):
                bound_socket.close()
        except (ProfileError, ValueError) as fault:
            yield Finding(title, "absent", str(fault), disables, f"correct [webhook.destinations.{name}]")
        except CannotListen as fault:
            remedy = "end the program that listens there, or give listen = HOST:PORT, to which deliveries are forwarded"
            yield Finding(title, "absent", str(fault), disables, remedy)
        else:
            yield Finding(title, "ok", f"the suite can receive at {host}:{port}")
