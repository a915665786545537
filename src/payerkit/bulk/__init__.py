"""Many rows, safely: read a table, see what would be sent, and send it so that a crash loses and repeats nothing."""
