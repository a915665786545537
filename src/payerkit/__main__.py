"""`python -m payerkit`, where the command is not on the path."""

from payerkit.cli.main import main

raise SystemExit(main())
