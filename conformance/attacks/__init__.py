"""The replay engine: take one paid call, and present its proof again along every axis of change."""
