"""The database layer: tables, and the statements of each of them. Unique indexes decide races between workers."""
