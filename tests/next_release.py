"""The release after this one, for tests of upgrades: our code with one more revision."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

from dashboard.store.schema import REVISION
from tests.processes import PROJECT

NEXT_REVISION: Final = "99.0.0"

_MIGRATION: Final = '''"""What upgrades usually do: columns, indexes, tables made of others."""

import sqlalchemy as sa
from alembic import op

revision = "{next}"
down_revision = "{ours}"


def upgrade() -> None:
    starred = sa.Column("is_starred", sa.Boolean(), nullable=False, server_default=sa.false())
    op.add_column("tracked_hashes", starred)
    op.create_index("ix_rejections_nonce", "rejections", ["nonce"])
    op.create_table(
        "rejected_hashes",
        sa.Column("tx_hash", sa.LargeBinary(32), primary_key=True),
        sa.Column("many", sa.BigInteger(), nullable=False),
    )
    op.execute("INSERT INTO rejected_hashes SELECT tx_hash, count(*) FROM rejections GROUP BY 1")
    op.execute("UPDATE notifications SET attempts = attempts + 1")
'''


def make_next_release(folder: Path) -> Path:
    """Copy the project into a new folder and let it have one schema more; return the folder."""
    folder.mkdir()
    for each in ("config", "tests", "pyproject.toml"):
        (folder / each).symlink_to(PROJECT / each)
    code = folder / "dashboard"
    shutil.copytree(PROJECT / "dashboard", code, ignore=shutil.ignore_patterns("__pycache__"))
    known = code / "store" / "schema" / "__init__.py"
    text = known.read_text(encoding="utf-8")
    more, changed = re.subn(r"(?m)^(REVISIONS: .*?),?\)$", rf'\1, "{NEXT_REVISION}")', text)
    assert changed == 1, "where the revisions stand has changed"
    known.write_text(more, encoding="utf-8")
    migration = _MIGRATION.format(next=NEXT_REVISION, ours=REVISION)
    versions = code / "store" / "migrations" / "versions"
    (versions / "next_release.py").write_text(migration, encoding="utf-8")
    return folder
