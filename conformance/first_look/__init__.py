"""What can be told of a server without paying it, without a credential, and without creating anything there."""
