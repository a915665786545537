"""Payments into stored bank accounts, and reading back what was paid. All of it is beyond the specification."""
