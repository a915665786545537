"""What a person who signs sees and hands over.

The modules:

        payment_sentence        what a payment does, in one sentence
        card_content            all that the card of a payment says; card: as HTML; card_text: in a terminal
        message_rows            what a message to sign says, without judging it
        calldata_digest         the digest of ERC-8213; device: what a signing device shows
        safe_calls              what a Safe is to call; safe_payment: of a payment that was checked
        builder_file            the file of Safe's Transaction Builder; safe_hashes: what the owners' devices show
"""
