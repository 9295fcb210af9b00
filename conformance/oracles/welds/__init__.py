"""Whether a complete signed transaction, or an authorization, pays one challenge: a reading of its own for each lane.

Pure: bytes and what a node told of them in, verdict out. The order of judging is the profile's (5.5, and 5.7
step 12 and 14), after one question that a node has answered before: whether a chain could have taken it at all.
"""
