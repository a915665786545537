"""Payments into stored bank accounts, and reading back what was paid. All of it is beyond the specification.

The modules, in the order of a payment:

        request_calls            create a request, get the transactions that pay it, ask whether it is paid
        payment_list             which payments to list, page by page; payment_frame: payments as a DataFrame
        expected_orders          orders as a reconciliation reads them
        payout_news              what events say of each payout
        coverage                 how far payments cover an order, and how often
        reconciliation           orders compared with payments and events: reconcile()
"""
