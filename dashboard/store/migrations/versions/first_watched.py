"""When watching began for the first time, so that no time before is compared with."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"

BEGIN = """
UPDATE coverage SET began_at = COALESCE(
  (SELECT MIN(gap.begins_at) FROM coverage_gaps AS gap WHERE gap.network_id = coverage.network_id
   AND gap.watched = coverage.watched AND gap.begins_at < coverage.since), since)
"""


def upgrade() -> None:
    """Take the first moment that is known: the earliest gap shows that it was watched before."""
    op.add_column("coverage", sa.Column("began_at", sa.BigInteger()))
    op.execute(BEGIN)
