"""Onboard payers and bank accounts on a crypto-to-bank payment service, and see what a payment does before signing."""

__version__ = "0.1.0"
