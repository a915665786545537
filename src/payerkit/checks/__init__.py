"""Find what a bank or the service would reject before it is sent; nothing here talks to
the service.

The models hold the errors: what the specification states, and nothing else. The rest,
warnings and infos, are rules: functions with the decorator `rule` in the module of
their subject (`texts`, `places`, `banks`, `requirements`, `national`, `people`), each
with examples in the tests. `records` checks a single record or a whole DataFrame, and
lists what it checks. `readings`, `codes` and `placeholders` tell what a text can mean
that is not right.
"""
