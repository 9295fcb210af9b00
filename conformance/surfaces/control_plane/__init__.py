"""The control plane under test, the services that the suite plays for it, and a played control plane."""
