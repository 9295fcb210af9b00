"""The lanes: a wallet and a node for each chain, and what checks ask of any of them."""
