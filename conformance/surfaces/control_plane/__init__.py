"""The control plane under test, what the suite plays beside it, and the control plane that the suite plays itself."""
