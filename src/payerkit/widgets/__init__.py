"""What every widget of payerkit is made of: one model a widget, and its code sent once a page."""
