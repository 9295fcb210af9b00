"""The documents as a site: `python -m mkdocs build --strict` with the settings in mkdocs.yml."""
