"""A hosted checkout page as a payer sees it: what it shows, what its QR code says, and which state it is in.

Only the page is in the interface, so only the page is read: no status address, no script's data. What cannot be seen
without running scripts is read in a browser where one is installed, and is inconclusive where none is.
"""
