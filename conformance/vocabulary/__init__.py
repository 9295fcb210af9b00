"""Names and values that the profile, commands and reports share; light to load."""
