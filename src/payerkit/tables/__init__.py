"""Tables as people have them: read from spreadsheets and text files, with what is wrong
in a cell, and written back.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
