"""The Base lane: reads its node, settles authorizations, and finds payments."""
