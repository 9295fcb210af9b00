"""How a surface joins a control plane."""
