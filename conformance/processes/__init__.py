"""Child processes: started without pipes, ended with what they started, and kept in a sandbox where a check asks."""
