-- From 0010: a change for PostgreSQL only.
UPDATE alembic_version SET version_num = '0011';
