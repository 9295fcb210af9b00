"""The suite's own crypto and parsing, on other libraries than the reference uses."""
