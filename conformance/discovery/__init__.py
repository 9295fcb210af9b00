"""What a target publishes of itself: paid operations, OpenAPI documents, and bodies that they suggest."""
