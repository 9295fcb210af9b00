"""The replay engine: take a success apart, replay it along every axis."""
