"""A server of PyPI's `x402` with Flask as its documentation has it: one thing for sale, a facilitator that says no.

Nothing of the package is changed. The facilitator answers what the stock client asks of it, in the same process, since
a server of x402 does not begin without one.
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from flask import Flask, Response, jsonify
from werkzeug.serving import make_server
from x402.http import FacilitatorConfig, HTTPFacilitatorClientSync, PaymentOption, RouteConfig
from x402.http.middleware.flask import payment_middleware
from x402.mechanisms.evm.exact import ExactEvmServerScheme
from x402.server import x402ResourceServerSync

NETWORK = "eip155:84532"
PAYEE = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
PATH = "/weather"


class Facilitator(BaseHTTPRequestHandler):
    """Settles on one network, and finds no payment valid."""

    def do_GET(self) -> None:
        """Say what is supported."""
        self._say(
            {"kinds": [{"x402Version": 2, "scheme": "exact", "network": NETWORK}], "extensions": [], "signers": {}}
        )

    def do_POST(self) -> None:
        """Refuse a payment."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self._say({"isValid": False, "invalidReason": "invalid_exact_evm_payload_signature", "payer": ""})

    def _say(self, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def shop(facilitator: str) -> Flask:
    """Return the shop."""
    app = Flask("stock")
    server = x402ResourceServerSync(HTTPFacilitatorClientSync(FacilitatorConfig(url=facilitator)))
    scheme: Any = ExactEvmServerScheme  # its types are not those of the server that takes it
    server.register(NETWORK, scheme())
    option = PaymentOption(scheme="exact", pay_to=PAYEE, price="$0.01", network=NETWORK)
    routes = {f"GET {PATH}": RouteConfig(accepts=option, description="Weather", mime_type="application/json")}
    payment_middleware(app, routes=routes, server=server)

    @app.get(PATH)
    def weather() -> Response:
        return jsonify({"report": {"weather": "sunny"}})

    return app


def main() -> None:
    """Serve until killed; the first line printed is the address."""
    facilitator = ThreadingHTTPServer(("127.0.0.1", 0), Facilitator)
    threading.Thread(target=facilitator.serve_forever, daemon=True).start()
    server = make_server("127.0.0.1", 0, shop(f"http://127.0.0.1:{facilitator.server_port}"), threaded=True)
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
