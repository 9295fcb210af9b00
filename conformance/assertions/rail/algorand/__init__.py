"""What checks of Algorand judge by."""
