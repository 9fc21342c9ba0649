-- The schema of a new PostgreSQL database. Run in one transaction; the numbered files upgrade older ones.
--
-- Times are milliseconds since 1970 where the type is BIGINT. URLs and page paths are looked up by
-- their hash, because B-tree indexes refuse values of more than 2,704 bytes.

-- CREATE SCHEMA IF NOT EXISTS needs the right to create it even where it exists.
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'webhook') THEN
        CREATE SCHEMA webhook;
    END IF;
END $$;

-- The name is that of earlier versions, which used Alembic.
CREATE TABLE webhook.alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO webhook.alembic_version (version_num) VALUES ('0012');

-- Every version that a scrape:// URI names.
CREATE TABLE webhook.saved_versions (
    id BIGSERIAL PRIMARY KEY,
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
    expires_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT saved_versions_place_saved_at_unique UNIQUE (place_hash, saved_at)
);
CREATE INDEX idx_saved_versions_url_hash ON webhook.saved_versions (url_hash);
CREATE INDEX idx_saved_versions_expires_at ON webhook.saved_versions (expires_at);

-- The newest document of each cache key. A URL has one entry for each set of options, so its hash is
-- not unique. Values longer than their column are cut, and are whole in the document.
CREATE TABLE webhook.scrape_cache (
    id BIGSERIAL PRIMARY KEY,
    version_id BIGINT NOT NULL REFERENCES webhook.saved_versions (id),
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
    scrape_options JSONB,
    scraped_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
    expires_at TIMESTAMPTZ,
    access_count INTEGER NOT NULL DEFAULT 0,
    last_accessed_at TIMESTAMPTZ,
    document JSON NOT NULL,
    raw_content TEXT,
    cleaned_content TEXT,
    extracted_content TEXT,
    screenshot BYTEA,
    CONSTRAINT scrape_cache_cache_key_unique UNIQUE (cache_key),
    CONSTRAINT scrape_cache_version_id_unique UNIQUE (version_id)
);
CREATE INDEX idx_scrape_cache_url ON webhook.scrape_cache (url);
CREATE INDEX idx_scrape_cache_url_hash ON webhook.scrape_cache (url_hash);
CREATE INDEX idx_scrape_cache_scraped_at ON webhook.scrape_cache (scraped_at DESC);
CREATE INDEX idx_scrape_cache_expires_at ON webhook.scrape_cache (expires_at)
 WHERE expires_at IS NOT NULL;
CREATE INDEX idx_scrape_cache_cache_key ON webhook.scrape_cache (cache_key);

-- The bodies of archived versions. Versions share equal ones.
CREATE TABLE webhook.bodies (
    hash TEXT PRIMARY KEY,
    data BYTEA NOT NULL
);
CREATE TABLE webhook.version_bodies (
    version_id BIGINT NOT NULL REFERENCES webhook.saved_versions (id) ON DELETE CASCADE,
    kind VARCHAR(20) NOT NULL,
    mime TEXT NOT NULL,
    hash TEXT NOT NULL REFERENCES webhook.bodies (hash),
    PRIMARY KEY (version_id, kind)
);
CREATE INDEX idx_version_bodies_hash ON webhook.version_bodies (hash);

-- Background jobs. next_at is when a worker should take the job up if none has by then; NULL when it
-- is over. dropped_at is when its pages were deleted. found counts all its URLs, the columns after it
-- those of each status; too_deep counts the URLs outside the scope because of their depth.
CREATE TABLE webhook.jobs (
    id TEXT PRIMARY KEY,
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
    spec TEXT NOT NULL,
    CONSTRAINT jobs_idempotency_key_unique UNIQUE (owner, kind, idempotency_key)
);
CREATE INDEX idx_jobs_next_at ON webhook.jobs (next_at);
CREATE INDEX idx_jobs_expires_at ON webhook.jobs (expires_at);

-- Every URL that a job has seen. crashes counts the leases that ran out. position numbers all URLs of
-- a job from 0 without gaps, fate_position those of a status, error_position those that failed.
CREATE TABLE webhook.frontier (
    id BIGSERIAL PRIMARY KEY,
    job_id TEXT NOT NULL REFERENCES webhook.jobs (id) ON DELETE CASCADE,
    fingerprint BYTEA NOT NULL,
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
    content_exact BYTEA,
    url TEXT NOT NULL,
    reason TEXT,
    title TEXT,
    uris TEXT,
    content_sketch BYTEA,
    CONSTRAINT frontier_job_fingerprint_unique UNIQUE (job_id, fingerprint)
);
CREATE INDEX idx_frontier_queued ON webhook.frontier (job_id, host, rank, id)
 WHERE state = 'queued';
CREATE INDEX idx_frontier_leased ON webhook.frontier (host, lease_until) WHERE state = 'leased';
CREATE INDEX idx_frontier_job_leased ON webhook.frontier (job_id, lease_until)
 WHERE state = 'leased';
CREATE INDEX idx_frontier_suspects ON webhook.frontier (job_id, crashes, id)
 WHERE state = 'suspect';
CREATE INDEX idx_frontier_exact ON webhook.frontier (job_id, content_exact)
 WHERE content_exact IS NOT NULL;
CREATE INDEX idx_frontier_position ON webhook.frontier (job_id, position);
CREATE INDEX idx_frontier_fate ON webhook.frontier (job_id, fate, fate_position)
 WHERE fate_position IS NOT NULL;
CREATE INDEX idx_frontier_errors ON webhook.frontier (job_id, error_position)
 WHERE error_position IS NOT NULL;

-- The keys by which a page finds its near-duplicates.
CREATE TABLE webhook.frontier_keys (
    page_id BIGINT NOT NULL REFERENCES webhook.frontier (id) ON DELETE CASCADE,
    key BIGINT NOT NULL,
    job_id TEXT NOT NULL,
    PRIMARY KEY (page_id, key)
);
CREATE INDEX idx_frontier_keys_job_key ON webhook.frontier_keys (job_id, key);

-- How many URLs of each host a job has queued, and when the job may request the next one.
CREATE TABLE webhook.job_hosts (
    job_id TEXT NOT NULL REFERENCES webhook.jobs (id) ON DELETE CASCADE,
    host TEXT NOT NULL,
    queued INTEGER NOT NULL DEFAULT 0,
    rank INTEGER NOT NULL DEFAULT 0,
    next_at BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (job_id, host)
);

-- When each host may be requested next, by all jobs and workers together, and its robots.txt.
CREATE TABLE webhook.hosts (
    host TEXT PRIMARY KEY,
    next_at BIGINT NOT NULL DEFAULT 0,
    delay_ms INTEGER NOT NULL DEFAULT 0,
    robots_status INTEGER,
    robots_at BIGINT,
    robots_failures INTEGER NOT NULL DEFAULT 0,
    robots BYTEA
);

-- Webhook events, each written in the transaction that it reports.
CREATE TABLE webhook.outbox (
    id BIGSERIAL PRIMARY KEY,
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
    payload TEXT NOT NULL
);
CREATE INDEX idx_outbox_next_at ON webhook.outbox (next_at) WHERE state = 'waiting';
CREATE INDEX idx_outbox_job_id ON webhook.outbox (job_id, id);

-- Jobs that start at set times.
CREATE TABLE webhook.schedules (
    name TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    kind VARCHAR(20) NOT NULL,
    cron TEXT NOT NULL,
    next_at BIGINT NOT NULL,
    spec TEXT NOT NULL
);
CREATE INDEX idx_schedules_next_at ON webhook.schedules (next_at);

-- API tokens. Of the secret only a hash is stored.
CREATE TABLE webhook.tokens (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    scopes TEXT NOT NULL,
    policy TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    CONSTRAINT tokens_name_unique UNIQUE (name),
    CONSTRAINT tokens_secret_hash_unique UNIQUE (secret_hash)
);

-- How many pages each token has fetched on a day (UTC), written as 2026-01-31.
CREATE TABLE webhook.token_pages (
    token_id TEXT NOT NULL REFERENCES webhook.tokens (id) ON DELETE CASCADE,
    day TEXT NOT NULL,
    pages BIGINT NOT NULL,
    PRIMARY KEY (token_id, day)
);

-- Counters that servers share. Each request writes to them, and a crash may lose them: no log.
CREATE UNLOGGED TABLE webhook.counts (
    name TEXT PRIMARY KEY,
    amount BIGINT NOT NULL,
    ends_at BIGINT NOT NULL
);

-- The pages in the index: of each URL the newest version, for all callers or for its owner.
-- page_hash is that of the URL and the owner, content that of the words. expires_at is the version's,
-- copied because searches would take long to look it up.
CREATE TABLE webhook.indexed_pages (
    id BIGSERIAL PRIMARY KEY,
    version_id BIGINT NOT NULL REFERENCES webhook.saved_versions (id) ON DELETE CASCADE,
    page_hash TEXT NOT NULL,
    owner TEXT,
    expires_at TIMESTAMPTZ NOT NULL,
    site TEXT NOT NULL,
    published_at BIGINT,
    first_seen_at BIGINT NOT NULL,
    content BIGINT NOT NULL,
    vector BYTEA,
    title TEXT NOT NULL,
    CONSTRAINT indexed_pages_page_hash_unique UNIQUE (page_hash)
);
CREATE INDEX idx_indexed_pages_version_id ON webhook.indexed_pages (version_id);

-- The words of the pages. English stems and no stop words: a phrase may consist of them, and queries
-- have their own list.
CREATE TEXT SEARCH DICTIONARY webhook.cinder_stem (TEMPLATE = snowball, Language = english);
CREATE TEXT SEARCH CONFIGURATION webhook.cinder_words (COPY = pg_catalog.simple);
ALTER TEXT SEARCH CONFIGURATION webhook.cinder_words
    ALTER MAPPING FOR asciiword, word, numword WITH webhook.cinder_stem;
CREATE TABLE webhook.page_words (
    id BIGINT PRIMARY KEY REFERENCES webhook.indexed_pages (id) ON DELETE CASCADE,
    text TEXT NOT NULL,
    words TSVECTOR NOT NULL
);
CREATE INDEX idx_page_words_words ON webhook.page_words USING gin (words);

-- Reading the words of every page takes far longer than PostgreSQL estimates: it must use the index of
-- the words. Without `enable_indexscan = off` it walks the primary key until the table is analysed.
CREATE FUNCTION webhook.pages_with(query tsquery, most bigint) RETURNS SETOF bigint
LANGUAGE sql STABLE ROWS 1000 SET enable_seqscan = off SET enable_indexscan = off
AS $$ SELECT id FROM webhook.page_words WHERE words @@ query ORDER BY id DESC LIMIT most $$;

-- Where the pages of a site have the values of a schema. place_hash is that of site, shape, wish and
-- owner.
CREATE TABLE webhook.recipes (
    id BIGSERIAL PRIMARY KEY,
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
    rules TEXT NOT NULL,
    CONSTRAINT recipes_place_hash_unique UNIQUE (place_hash)
);
CREATE INDEX idx_recipes_wish_site ON webhook.recipes (wish, site);
CREATE INDEX idx_recipes_used_at ON webhook.recipes (used_at);

-- lz4 is far faster than the default, for a third more space. A server may be built without it.
DO $$ BEGIN
    ALTER TABLE webhook.scrape_cache
        ALTER COLUMN document SET COMPRESSION lz4,
        ALTER COLUMN raw_content SET COMPRESSION lz4,
        ALTER COLUMN cleaned_content SET COMPRESSION lz4,
        ALTER COLUMN extracted_content SET COMPRESSION lz4;
    ALTER TABLE webhook.page_words ALTER COLUMN text SET COMPRESSION lz4;
    ALTER TABLE webhook.outbox ALTER COLUMN payload SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END $$;
