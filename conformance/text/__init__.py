"""Text made safe: what others wrote, shown to people, put into JSON, or pasted into a shell."""
