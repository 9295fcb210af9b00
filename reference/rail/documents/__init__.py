"""Documents that the rail publishes."""
