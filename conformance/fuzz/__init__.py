"""Generated requests: OpenAPI documents driven by Schemathesis, and the gateway held against a model by Hypothesis."""
