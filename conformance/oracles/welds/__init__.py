"""Whether a complete signed transaction, or an authorization, pays one challenge: a separate reader for each lane.

Pure: the input is bytes and a node's report of them, the output is a verdict. The order of judging is the profile's
(5.5, and 5.7 steps 12 and 14). Before it comes the question whether the chain would accept the transaction at all.
"""
