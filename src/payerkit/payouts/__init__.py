"""Payments into stored bank accounts, and reading back what became of them; all of it is beyond the specification."""
