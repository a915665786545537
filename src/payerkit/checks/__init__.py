"""Find what a bank or the service would reject before it is sent; nothing here talks to the service.

`schema` holds the errors: what the specification states, and nothing else. `rules.tsv`, `requirements.tsv` and
`identifiers.tsv` hold the rest, the warnings and infos: a new rule is one row in `rules.tsv` and one checker in the
module of its subject. `check` checks a single record or a whole DataFrame, and lists what it checks.
"""
