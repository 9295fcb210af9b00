"""Settings of the agent (specification 9)."""

from __future__ import annotations

from pydantic import Field, field_validator

from reference.web.settings import CommonSettings


class AgentSettings(CommonSettings):
    """The settings of one agent process."""

    agent_port: int = Field(default=8403, ge=0, le=65535)
    agent_fd: int | None = Field(default=None, ge=3)
    agent_public_url: str = "http://localhost:8403"
    # Free calls, so each address has half of what the paid and internal surfaces allow (P-RL-06).
    agent_rate: int = Field(default=60, ge=1)
    # Larger than other surfaces allow: a message to verify is sent with its own body in it (P-CV-16).
    agent_body_limit: int = Field(default=262_144, ge=1)

    @field_validator("agent_public_url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        if not url.startswith(("http://", "https://")):
            raise ValueError("give an http:// or https:// address")
        return url

    @property
    def public_url(self) -> str:
        """The public address without a slash at its end."""
        return self.agent_public_url.rstrip("/")
