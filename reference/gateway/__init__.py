"""The gateway: payment links, hosted checkout, resources, receipt verification and screening (specification 3)."""
