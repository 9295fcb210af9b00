"""Calls of an agent and its answers, with any names for what the interface leaves open."""

from conformance.surfaces.agent.access import Agent
from conformance.surfaces.agent.name_discovery import agent_of
from conformance.surfaces.agent.paths import (
    A2A,
    CARD,
    EXPLAIN,
    HEALTH,
    LANDING_PAGE,
    LEGACY_CARD,
    OPERATIONS,
    SIGN,
    VERIFY,
)
from conformance.surfaces.agent.subjects import Subject, signer, subject

__all__ = [
    "A2A",
    "CARD",
    "EXPLAIN",
    "HEALTH",
    "LANDING_PAGE",
    "LEGACY_CARD",
    "OPERATIONS",
    "SIGN",
    "VERIFY",
    "Agent",
    "Subject",
    "agent_of",
    "signer",
    "subject",
]
