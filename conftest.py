"""Loads nbval, which runs the notebooks, without a library that it does not need."""

from __future__ import annotations

import sys

# jsonschema checks addresses in other alphabets with it; notebooks have none, and its import builds grammars for 1.4 s.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # how Python notes that a module must not be imported

pytest_plugins = ["nbval.plugin"]
