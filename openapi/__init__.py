"""OpenAPI 3.1 documents, one a surface, written by hand and served as they are."""
