"""`python -m reference.variants.receiver`: serve the webhook receiver."""

from __future__ import annotations

import asyncio

from reference.variants.receiver.webhook_receiver import serve

if __name__ == "__main__":
    asyncio.run(serve())
