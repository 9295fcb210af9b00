"""What every surface shares: error bodies, request ids, limits, settings, serving."""
