"""Release 0.1.0, whose schema is only upgraded: a new store gets the newest tables at once."""

revision = "0.1.0"
down_revision = None


def upgrade() -> None:
    """Do nothing: the tables of this release exist."""
