"""The rows of the network table as data: one file for each lane, and one for networks that no lane serves."""
