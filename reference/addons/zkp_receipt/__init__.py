"""The ZK receipt: a proof that a paid call's score reaches a threshold, without the score (8.4). Unaudited."""
