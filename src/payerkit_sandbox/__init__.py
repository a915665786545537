"""The sandbox: the whole payment service on this machine, with a database, pages and
payments with real calldata.

It shares no model with the client: the API's names are written out here again, so that
a mistake on one side shows.
"""
