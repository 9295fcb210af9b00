"""`python -m reference.variants.payer`: make one paid call."""

from __future__ import annotations

import sys

from reference.variants.payer.call import main

if __name__ == "__main__":
    sys.exit(main())
