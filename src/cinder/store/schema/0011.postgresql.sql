-- From 0010: searches use the index of the words before the table is analysed, too.
ALTER FUNCTION webhook.pages_with(tsquery, bigint) SET enable_indexscan = off;
UPDATE webhook.alembic_version SET version_num = '0011';
