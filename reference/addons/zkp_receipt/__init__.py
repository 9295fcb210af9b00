"""The ZK receipt: a paid call's score shown to reach a threshold, and not told (8.4). Ours, and unaudited."""
