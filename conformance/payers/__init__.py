"""One wallet a lane: official SDKs, real signatures."""
