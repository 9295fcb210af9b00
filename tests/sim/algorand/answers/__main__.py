"""`python -m tests.sim.algorand.answers`: ask a node everything in `script.py`, and record or compare what it answers.

    record NAME --algod URL --token-file FILE --funder-file FILE --node "algod 5.1" --mode rounds [--base rounds]
    compare NAME NAME

`record` needs a private network and the 25 words of a funded account of it; the answers become `recorded/NAME.json`.
"""

from __future__ import annotations

import datetime as dt
import time
from pathlib import Path
from typing import Any

import click
from algosdk import account, mnemonic, transaction

from tests.sim.algorand.answers.recordings import differences, load, save
from tests.sim.algorand.answers.script import Script
from tests.sim.algorand.answers.session import Session, sign_transaction


@click.group()
def main() -> None:
    """Recorded answers of a real algod."""


@main.command()
@click.argument("name")
@click.option("--algod", required=True, help="Address of algod.")
@click.option("--token-file", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--funder-file", type=click.Path(exists=True, path_type=Path), required=True, help="25 words.")
@click.option("--node", required=True, help="Name and version of the node.")
@click.option("--mode", type=click.Choice(["dev", "rounds"]), required=True)
@click.option("--salt", default="weldproof", show_default=True, help="Another one for a network that was asked before.")
@click.option("--base", help="Recording whose answers are left out where they are the same.")
def record(
    name: str, algod: str, token_file: Path, funder_file: Path, node: str, mode: str, salt: str, base: str | None
) -> None:
    """Ask a real node and keep its answers."""
    funder = mnemonic.to_private_key(funder_file.read_text().strip())

    def fund(address: str, amount: int) -> None:
        client = session.client
        sender = account.address_from_private_key(funder)
        payment = transaction.PaymentTxn(sender, client.suggested_params(), address, amount)
        transaction.wait_for_confirmation(client, client.send_transaction(sign_transaction(funder, payment)), 20)

    def pass_time(seconds: int) -> None:
        time.sleep(seconds)

    session = Session(algod, token_file.read_text().strip(), salt, fund)
    consensus = str(session.json("/v2/transactions/params")["consensus-version"])
    Script(session, pass_time).run()
    answers: dict[str, Any] = {
        "node": node,
        "consensus": consensus,
        "mode": mode,
        "recorded": dt.datetime.now(dt.UTC).date().isoformat(),
        "answers": session.answers,
    }
    save(name, answers, base)
    click.echo(f"{len(session.answers)} answers")


@main.command()
@click.argument("left")
@click.argument("right")
def compare(left_name: str, right: str) -> None:
    """Print how two recordings differ."""
    for difference in differences(load(left_name)["answers"], load(right)["answers"]):
        click.echo(str(difference))


if __name__ == "__main__":
    main()
