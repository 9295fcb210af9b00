"""Programs that use other projects' packages. They run in separate environments and are never imported."""
