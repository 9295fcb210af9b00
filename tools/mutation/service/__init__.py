"""A service with one of its modules changed, or with its lines recorded; the product knows of neither."""
