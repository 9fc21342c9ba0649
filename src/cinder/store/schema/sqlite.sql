-- The schema of a new SQLite database: that of postgresql.sql, in which tables and columns are explained.
--
-- Texts that may be long are compressed BLOBs, and come last: SQLite reads through a row's long values to
-- reach those behind them. AUTOINCREMENT is for ids that are never given twice, because callers page by
-- them or keep them.

-- The name is that of earlier versions, which used Alembic.
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO alembic_version (version_num) VALUES ('0012');

CREATE TABLE saved_versions (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    place_hash TEXT NOT NULL,
    saved_at BIGINT NOT NULL,
    place TEXT NOT NULL,
    url TEXT NOT NULL,
    url_hash TEXT NOT NULL,
    cache_key TEXT NOT NULL,
    owner TEXT,
    title TEXT,
    kind VARCHAR(20),
    mime TEXT,
    size BIGINT,
    expires_at DATETIME NOT NULL,
    CONSTRAINT saved_versions_place_saved_at_unique UNIQUE (place_hash, saved_at)
);
CREATE INDEX idx_saved_versions_url_hash ON saved_versions (url_hash);
CREATE INDEX idx_saved_versions_expires_at ON saved_versions (expires_at);

CREATE TABLE scrape_cache (
    id INTEGER NOT NULL PRIMARY KEY,
    version_id INTEGER NOT NULL REFERENCES saved_versions (id),
    url TEXT NOT NULL,
    url_hash TEXT NOT NULL,
    cache_key TEXT NOT NULL,
    owner TEXT,
    extract_query TEXT,
    source VARCHAR(50) NOT NULL,
    content_type VARCHAR(100),
    content_length_raw INTEGER,
    content_length_cleaned INTEGER,
    content_length_extracted INTEGER,
    screenshot_format VARCHAR(20),
    strategy_used VARCHAR(50),
    scrape_options JSON,
    scraped_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    expires_at DATETIME,
    access_count INTEGER NOT NULL DEFAULT 0,
    last_accessed_at DATETIME,
    document BLOB NOT NULL,
    raw_content BLOB,
    cleaned_content BLOB,
    extracted_content BLOB,
    screenshot BLOB,
    CONSTRAINT scrape_cache_cache_key_unique UNIQUE (cache_key),
    CONSTRAINT scrape_cache_version_id_unique UNIQUE (version_id)
);
CREATE INDEX idx_scrape_cache_url ON scrape_cache (url);
CREATE INDEX idx_scrape_cache_url_hash ON scrape_cache (url_hash);
CREATE INDEX idx_scrape_cache_scraped_at ON scrape_cache (scraped_at DESC);
CREATE INDEX idx_scrape_cache_expires_at ON scrape_cache (expires_at)
 WHERE expires_at IS NOT NULL;
CREATE INDEX idx_scrape_cache_cache_key ON scrape_cache (cache_key);

CREATE TABLE bodies (
    hash TEXT NOT NULL PRIMARY KEY,
    data BLOB NOT NULL
);
CREATE TABLE version_bodies (
    version_id INTEGER NOT NULL REFERENCES saved_versions (id) ON DELETE CASCADE,
    kind VARCHAR(20) NOT NULL,
    mime TEXT NOT NULL,
    hash TEXT NOT NULL REFERENCES bodies (hash),
    PRIMARY KEY (version_id, kind)
);
CREATE INDEX idx_version_bodies_hash ON version_bodies (hash);

CREATE TABLE jobs (
    id TEXT NOT NULL PRIMARY KEY,
    kind VARCHAR(20) NOT NULL,
    owner TEXT NOT NULL,
    status VARCHAR(20) NOT NULL,
    idempotency_key TEXT,
    max_pages INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    seeded_at BIGINT,
    started_at BIGINT,
    finished_at BIGINT,
    expires_at BIGINT NOT NULL,
    dropped_at BIGINT,
    next_at BIGINT,
    attempts INTEGER NOT NULL DEFAULT 0,
    found INTEGER NOT NULL DEFAULT 0,
    fetched INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    disallowed INTEGER NOT NULL DEFAULT 0,
    outside INTEGER NOT NULL DEFAULT 0,
    duplicates INTEGER NOT NULL DEFAULT 0,
    traps INTEGER NOT NULL DEFAULT 0,
    left_out INTEGER NOT NULL DEFAULT 0,
    too_deep INTEGER NOT NULL DEFAULT 0,
    bytes_fetched BIGINT NOT NULL DEFAULT 0,
    error TEXT,
    spec BLOB NOT NULL,
    CONSTRAINT jobs_idempotency_key_unique UNIQUE (owner, kind, idempotency_key)
);
CREATE INDEX idx_jobs_next_at ON jobs (next_at);
CREATE INDEX idx_jobs_expires_at ON jobs (expires_at);

CREATE TABLE frontier (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    fingerprint BLOB NOT NULL,
    host TEXT NOT NULL,
    depth INTEGER NOT NULL,
    state VARCHAR(10) NOT NULL,
    fence INTEGER NOT NULL DEFAULT 0,
    rank INTEGER NOT NULL DEFAULT 0,
    tries INTEGER NOT NULL DEFAULT 0,
    crashes INTEGER NOT NULL DEFAULT 0,
    position INTEGER NOT NULL,
    fate_position INTEGER,
    error_position INTEGER,
    lease_until BIGINT,
    fate VARCHAR(30),
    status_code INTEGER,
    content_length BIGINT,
    finished_at BIGINT,
    template TEXT,
    verdict TEXT,
    content_exact BLOB,
    url TEXT NOT NULL,
    reason TEXT,
    title TEXT,
    uris TEXT,
    content_sketch BLOB,
    CONSTRAINT frontier_job_fingerprint_unique UNIQUE (job_id, fingerprint)
);
CREATE INDEX idx_frontier_queued ON frontier (job_id, host, rank, id)
 WHERE state = 'queued';
CREATE INDEX idx_frontier_leased ON frontier (host, lease_until) WHERE state = 'leased';
CREATE INDEX idx_frontier_job_leased ON frontier (job_id, lease_until)
 WHERE state = 'leased';
CREATE INDEX idx_frontier_suspects ON frontier (job_id, crashes, id)
 WHERE state = 'suspect';
CREATE INDEX idx_frontier_exact ON frontier (job_id, content_exact)
 WHERE content_exact IS NOT NULL;
CREATE INDEX idx_frontier_position ON frontier (job_id, position);
CREATE INDEX idx_frontier_fate ON frontier (job_id, fate, fate_position)
 WHERE fate_position IS NOT NULL;
CREATE INDEX idx_frontier_errors ON frontier (job_id, error_position)
 WHERE error_position IS NOT NULL;

CREATE TABLE frontier_keys (
    page_id INTEGER NOT NULL REFERENCES frontier (id) ON DELETE CASCADE,
    key BIGINT NOT NULL,
    job_id TEXT NOT NULL,
    PRIMARY KEY (page_id, key)
);
CREATE INDEX idx_frontier_keys_job_key ON frontier_keys (job_id, key);

CREATE TABLE job_hosts (
    job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    host TEXT NOT NULL,
    queued INTEGER NOT NULL DEFAULT 0,
    rank INTEGER NOT NULL DEFAULT 0,
    next_at BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (job_id, host)
);

CREATE TABLE hosts (
    host TEXT NOT NULL PRIMARY KEY,
    next_at BIGINT NOT NULL DEFAULT 0,
    delay_ms INTEGER NOT NULL DEFAULT 0,
    robots_status INTEGER,
    robots_at BIGINT,
    robots_failures INTEGER NOT NULL DEFAULT 0,
    robots BLOB
);

CREATE TABLE outbox (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    job_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    event VARCHAR(30) NOT NULL,
    state VARCHAR(10) NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    next_at BIGINT NOT NULL,
    finished_at BIGINT,
    url TEXT NOT NULL,
    error TEXT,
    payload BLOB NOT NULL
);
CREATE INDEX idx_outbox_next_at ON outbox (next_at) WHERE state = 'waiting';
CREATE INDEX idx_outbox_job_id ON outbox (job_id, id);

CREATE TABLE schedules (
    name TEXT NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    kind VARCHAR(20) NOT NULL,
    cron TEXT NOT NULL,
    next_at BIGINT NOT NULL,
    spec BLOB NOT NULL
);
CREATE INDEX idx_schedules_next_at ON schedules (next_at);

CREATE TABLE tokens (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    scopes TEXT NOT NULL,
    policy TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    CONSTRAINT tokens_name_unique UNIQUE (name),
    CONSTRAINT tokens_secret_hash_unique UNIQUE (secret_hash)
);

CREATE TABLE token_pages (
    token_id TEXT NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
    day TEXT NOT NULL,
    pages BIGINT NOT NULL,
    PRIMARY KEY (token_id, day)
);

CREATE TABLE counts (
    name TEXT NOT NULL PRIMARY KEY,
    amount BIGINT NOT NULL,
    ends_at BIGINT NOT NULL
);

CREATE TABLE indexed_pages (
    id INTEGER NOT NULL PRIMARY KEY,
    version_id INTEGER NOT NULL REFERENCES saved_versions (id) ON DELETE CASCADE,
    page_hash TEXT NOT NULL,
    owner TEXT,
    expires_at DATETIME NOT NULL,
    site TEXT NOT NULL,
    published_at BIGINT,
    first_seen_at BIGINT NOT NULL,
    content BIGINT NOT NULL,
    vector BLOB,
    title TEXT NOT NULL,
    CONSTRAINT indexed_pages_page_hash_unique UNIQUE (page_hash)
);
CREATE INDEX idx_indexed_pages_version_id ON indexed_pages (version_id);

-- Deleting a version deletes its page. A virtual table has no foreign keys, so a trigger follows.
CREATE VIRTUAL TABLE page_words
USING fts5(title, text, tokenize = 'porter unicode61 remove_diacritics 2');
CREATE TRIGGER forget_page_words AFTER DELETE ON indexed_pages
BEGIN
    DELETE FROM page_words WHERE rowid = old.id;
END;

CREATE TABLE recipes (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    place_hash TEXT NOT NULL,
    site TEXT NOT NULL,
    shape TEXT NOT NULL,
    wish TEXT NOT NULL,
    owner TEXT,
    created_at BIGINT NOT NULL,
    used_at BIGINT NOT NULL,
    uses INTEGER NOT NULL DEFAULT 0,
    successes INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    learned_from TEXT NOT NULL,
    summary TEXT NOT NULL,
    rules BLOB NOT NULL,
    CONSTRAINT recipes_place_hash_unique UNIQUE (place_hash)
);
CREATE INDEX idx_recipes_wish_site ON recipes (wish, site);
CREATE INDEX idx_recipes_used_at ON recipes (used_at);

