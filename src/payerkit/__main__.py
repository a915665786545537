"""`python -m payerkit`, where the command is not on the path."""

from payerkit.cli import main

raise SystemExit(main())
