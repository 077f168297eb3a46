"""What whoever sent a job may see"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Jobs that wait were checked when they came: they go on as they would have.
    op.add_column("jobs", sa.Column("principals", sa.JSON(none_as_null=True), nullable=True))


def downgrade() -> None:
    op.drop_column("jobs", "principals")
