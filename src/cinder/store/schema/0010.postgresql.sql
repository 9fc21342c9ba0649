-- From 0009: the types and indexes of scrape_cache. Values that are too long for their column, or for the
-- index, are cut there and are whole in the document.
UPDATE webhook.scrape_cache
   SET document = CAST(CAST(document AS JSONB) || jsonb_build_object('columns', jsonb_strip_nulls(
           jsonb_build_object(
               'url', CASE WHEN octet_length(url) > 2000 THEN url END,
               'content_type', CASE WHEN length(content_type) > 100 THEN content_type END,
               'screenshot_format', CASE WHEN length(screenshot_format) > 20 THEN screenshot_format END,
               'strategy_used', CASE WHEN length(strategy_used) > 50 THEN strategy_used END))) AS JSON),
       url = CASE WHEN octet_length(url) > 2000 THEN left(url, 500) ELSE url END,
       content_type = left(content_type, 100),
       screenshot_format = left(screenshot_format, 20),
       strategy_used = left(strategy_used, 50)
 WHERE octet_length(url) > 2000 OR length(content_type) > 100 OR length(screenshot_format) > 20
    OR length(strategy_used) > 50;
ALTER TABLE webhook.scrape_cache
    ALTER COLUMN content_type TYPE VARCHAR(100),
    ALTER COLUMN screenshot_format TYPE VARCHAR(20),
    ALTER COLUMN strategy_used TYPE VARCHAR(50),
    ALTER COLUMN scraped_at SET DEFAULT NOW();
DROP INDEX webhook.idx_scrape_cache_url;
CREATE INDEX idx_scrape_cache_url ON webhook.scrape_cache (url);
CREATE INDEX idx_scrape_cache_cache_key ON webhook.scrape_cache (cache_key);
UPDATE webhook.alembic_version SET version_num = '0010';
