"""What a payment does, compared with its order and with what was agreed; every match and mismatch is a finding."""
