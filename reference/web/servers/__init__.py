"""The servers that a surface runs on."""
