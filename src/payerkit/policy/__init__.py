"""What a user agreed to once, for all payments, and the wallets that a user knows.

The modules:

        payment_policy          fees, allowances, known addresses, rates and tokens; further_tokens: not in the table
        policy_file             reads the TOML file; policy_lines: writes its lines, also for advice in findings
        address_book            names of known wallets, and addresses that only look like one of them
"""
