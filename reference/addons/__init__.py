"""Services that join the control plane: a kit to write them with, and those that come along (specification 8)."""
