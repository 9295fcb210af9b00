"""Addons, which are services that join the control plane: a kit to write them, and three that are bundled (8)."""
