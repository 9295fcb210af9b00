"""The ZK receipt: a paid call's score shown to reach a threshold, and not told (profile 8.4). Ours, and unaudited."""
