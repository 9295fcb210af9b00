"""The payment gateway as tenants and payers use it: links, resources, and hosted checkout pages."""
