"""This process: its end, and how many files and sockets it may open."""
