"""What checks of Solana judge by."""
