"""Load nbval, which runs the notebooks, without the grammar that jsonschema would compile for it in each process."""

import sys

sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # `None` is how an import is refused
pytest_plugins = ["nbval.plugin"]
