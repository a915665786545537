"""What a payment does, compared with its order and with what was agreed; every match and mismatch is a finding.

The modules, in the order of a check; the messages are in `review.tsv`:

        protocols               the parts of payments and orders that are read here
        whole_response          transactions, messages to sign and statements, wherever they stand in a response; the
                                names of these are in `members.tsv`
        transactions            decodes the transactions; decoded_frames: the same as DataFrames
        chain_claims            what the response says about the network
        orders                  what a user ordered; order_matching: which payment fulfils which order
        check_order             an order before it is sent; its messages are in `checks/order_findings.tsv`
        fees                    what is taken on top of payments; payees: whom nobody should pay
        paid_status             whether a request is paid already, or in part, as the service says
        payment_review          a payment with all that it is compared with
        check_payment           the check; it has a part for each subject, as follows
        review_response         the whole response; review_metadata: what the service says of the transactions
        review_orders           several orders; review_payments: one payment; review_payee: who is paid
        review_payout           the bank account that it pays out to
        review_tokens           in which token; review_amounts: how much; review_value: how much of the coin
        review_conversion       what a conversion on execution may cost
        review_fees             who takes how much on top; review_approvals: who may take how much
        review_many             payments compared with each other
"""
