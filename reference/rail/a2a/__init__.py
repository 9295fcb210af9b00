"""The rail's calls over A2A."""
