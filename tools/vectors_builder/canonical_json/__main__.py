"""`python -m tools.vectors_builder.canonical_json`: the texts by name, as `record.mjs` reads them."""

from __future__ import annotations

import json

import click

from tools.vectors_builder.canonical_json import FAMILY

if __name__ == "__main__":
    click.echo(json.dumps({draft.name: draft.input["json_b64"] for draft in FAMILY.drafts()}))
