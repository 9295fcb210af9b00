"""The whole of rail, stores, nodes and payers in one process, on a virtual clock, from a seed.

As a program: `python -m tests.simulation --seed 1 --operations 200`. Import `tests.simulation.patches` before anything
of the product: it takes the place of the clocks, of chance and of sockets.
"""
