"""Tables as people have them: read from spreadsheets and text files, with what is wrong in a cell, and written back."""
