"""Tables as people have them: read from spreadsheets and text files, with what is wrong in a cell, and written back."""

from payerkit._lazy import load_lazily

__getattr__, __dir__, __all__ = load_lazily(__name__, __file__)
