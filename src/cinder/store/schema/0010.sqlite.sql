-- From 0009. The columns that are VARCHAR(n) in new databases stay TEXT: to SQLite both are the same, and
-- a change would copy the whole table.
CREATE INDEX idx_scrape_cache_cache_key ON scrape_cache (cache_key);
UPDATE alembic_version SET version_num = '0010';
