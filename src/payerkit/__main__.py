"""`python -m payerkit`: the same as the command `payerkit`."""

from payerkit.cli.main import main

raise SystemExit(main())
