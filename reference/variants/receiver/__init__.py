"""A webhook receiver such as a merchant writes, there to be broken.

The suite's receiver under test is the merchant's own program, which no service of the reference is. This one takes
events at `/hook`, tells their effects at `/effects/{id}`, reads its secret from `WP_RECEIVER_SECRET`, and prints one
line of JSON with both addresses once it listens.
"""
