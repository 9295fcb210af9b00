"""The rows of the network table as data: a file a lane, and one for networks that no lane serves."""
