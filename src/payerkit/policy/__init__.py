"""What a user agreed to once, for all payments, and the wallets that a user knows."""
