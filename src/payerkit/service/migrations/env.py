"""What Alembic runs for an upgrade: the migrations, in the transaction that is open."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
