"""A small webhook receiver, as a merchant writes one, for mutants of receivers.

The receiver that the suite tests is the merchant's program, and no service of the reference is one. This one takes
events at `/hook`, reports their effects at `/effects/{id}`, and reads its secret from `WP_RECEIVER_SECRET`. When it
listens, it prints one line of JSON with both addresses.
"""
