"""What checks of Base judge by."""
