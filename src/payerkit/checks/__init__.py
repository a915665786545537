"""What a bank or the service would bounce, found before it is sent: pure functions of values.

`specification` has the errors: what the specification states, and nothing else. The tables `rules.tsv` and
`requirements.tsv` have the rest, which warns or informs: a new rule is one row there and one checker in the module of
its kind. `bodies` looks at one body, `frames` at a whole DataFrame, by the same tables.
"""
