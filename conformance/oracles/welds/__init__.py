"""Whether a complete signed transaction, or an authorization, pays one challenge: a separate reader for each lane.

Pure: the input is bytes and a node's report of them, the output a verdict. The order of judging is the profile's (5.5,
and 5.7 step 12 and 14), after one question that a node has answered before: whether the chain would accept it at all.
"""
