"""The service itself, as a sandbox: the whole API, a database, pages, payments with real call data.

It knows nothing of the client: the API's names stand here as literals, so that a mistake on one side shows.
"""
