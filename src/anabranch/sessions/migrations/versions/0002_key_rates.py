"""How often keys were used"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "key_rates",
        sa.Column("key_id", sa.String(length=64), nullable=False),
        sa.Column("full_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("key_id", name=op.f("pk_key_rates")),
    )


def downgrade() -> None:
    op.drop_table("key_rates")
