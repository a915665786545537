"""Events: what the service reports by itself (webhooks), received, verified and read. Beyond the specification."""
