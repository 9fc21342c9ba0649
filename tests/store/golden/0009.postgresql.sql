BEGIN;

DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'webhook') THEN
        CREATE SCHEMA webhook;
    END IF;
END $$;

CREATE TABLE webhook.alembic_version (
    version_num VARCHAR(32) NOT NULL, 
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

-- Running upgrade  -> 0001

CREATE TABLE webhook.saved_versions (
    id BIGSERIAL NOT NULL, 
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
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL, 
    PRIMARY KEY (id), 
    CONSTRAINT saved_versions_place_saved_at_unique UNIQUE (place_hash, saved_at)
);

CREATE INDEX idx_saved_versions_url_hash ON webhook.saved_versions (url_hash);

CREATE INDEX idx_saved_versions_expires_at ON webhook.saved_versions (expires_at);

CREATE TABLE webhook.scrape_cache (
    id BIGSERIAL NOT NULL, 
    version_id BIGINT NOT NULL, 
    url TEXT NOT NULL, 
    url_hash TEXT NOT NULL, 
    cache_key TEXT NOT NULL, 
    owner TEXT, 
    extract_query TEXT, 
    source VARCHAR(50) NOT NULL, 
    content_type TEXT, 
    content_length_raw INTEGER, 
    content_length_cleaned INTEGER, 
    content_length_extracted INTEGER, 
    screenshot_format TEXT, 
    strategy_used TEXT, 
    scrape_options JSONB, 
    scraped_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL, 
    expires_at TIMESTAMP WITH TIME ZONE, 
    access_count INTEGER DEFAULT 0 NOT NULL, 
    last_accessed_at TIMESTAMP WITH TIME ZONE, 
    document JSON NOT NULL, 
    raw_content TEXT, 
    cleaned_content TEXT, 
    extracted_content TEXT, 
    screenshot BYTEA, 
    PRIMARY KEY (id), 
    CONSTRAINT scrape_cache_cache_key_unique UNIQUE (cache_key), 
    CONSTRAINT scrape_cache_version_id_unique UNIQUE (version_id), 
    FOREIGN KEY(version_id) REFERENCES webhook.saved_versions (id)
);

CREATE INDEX idx_scrape_cache_url_hash ON webhook.scrape_cache (url_hash);

CREATE INDEX idx_scrape_cache_url ON webhook.scrape_cache USING hash (url);

CREATE INDEX idx_scrape_cache_scraped_at ON webhook.scrape_cache (scraped_at DESC);

CREATE INDEX idx_scrape_cache_expires_at ON webhook.scrape_cache (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE webhook.bodies (
    hash TEXT NOT NULL, 
    data BYTEA NOT NULL, 
    PRIMARY KEY (hash)
);

CREATE TABLE webhook.version_bodies (
    version_id BIGINT NOT NULL, 
    kind VARCHAR(20) NOT NULL, 
    mime TEXT NOT NULL, 
    hash TEXT NOT NULL, 
    PRIMARY KEY (version_id, kind), 
    FOREIGN KEY(version_id) REFERENCES webhook.saved_versions (id) ON DELETE CASCADE, 
    FOREIGN KEY(hash) REFERENCES webhook.bodies (hash)
);

CREATE INDEX idx_version_bodies_hash ON webhook.version_bodies (hash);

INSERT INTO webhook.alembic_version (version_num) VALUES ('0001') RETURNING webhook.alembic_version.version_num;

-- Running upgrade 0001 -> 0002

CREATE TABLE webhook.jobs (
    id TEXT NOT NULL, 
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
    attempts INTEGER DEFAULT 0 NOT NULL, 
    found INTEGER DEFAULT 0 NOT NULL, 
    fetched INTEGER DEFAULT 0 NOT NULL, 
    failed INTEGER DEFAULT 0 NOT NULL, 
    error TEXT, 
    spec TEXT NOT NULL, 
    PRIMARY KEY (id), 
    CONSTRAINT jobs_idempotency_key_unique UNIQUE (owner, kind, idempotency_key)
);

CREATE INDEX idx_jobs_next_at ON webhook.jobs (next_at);

CREATE INDEX idx_jobs_expires_at ON webhook.jobs (expires_at);

CREATE TABLE webhook.frontier (
    id BIGSERIAL NOT NULL, 
    job_id TEXT NOT NULL, 
    fingerprint BYTEA NOT NULL, 
    host TEXT NOT NULL, 
    depth INTEGER NOT NULL, 
    state VARCHAR(10) NOT NULL, 
    fence INTEGER DEFAULT 0 NOT NULL, 
    tries INTEGER DEFAULT 0 NOT NULL, 
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
    PRIMARY KEY (id), 
    CONSTRAINT frontier_job_fingerprint_unique UNIQUE (job_id, fingerprint), 
    FOREIGN KEY(job_id) REFERENCES webhook.jobs (id) ON DELETE CASCADE
);

CREATE INDEX idx_frontier_queued ON webhook.frontier (job_id, host, id) WHERE state = 'queued';

CREATE INDEX idx_frontier_leased ON webhook.frontier (host, lease_until) WHERE state = 'leased';

CREATE INDEX idx_frontier_job_leased ON webhook.frontier (job_id, lease_until) WHERE state = 'leased';

CREATE INDEX idx_frontier_exact ON webhook.frontier (job_id, content_exact) WHERE content_exact IS NOT NULL;

CREATE INDEX idx_frontier_fate ON webhook.frontier (job_id, fate, finished_at, id);

CREATE TABLE webhook.frontier_keys (
    page_id BIGINT NOT NULL, 
    key BIGINT NOT NULL, 
    job_id TEXT NOT NULL, 
    PRIMARY KEY (page_id, key), 
    FOREIGN KEY(page_id) REFERENCES webhook.frontier (id) ON DELETE CASCADE
);

CREATE INDEX idx_frontier_keys_job_key ON webhook.frontier_keys (job_id, key);

CREATE TABLE webhook.job_hosts (
    job_id TEXT NOT NULL, 
    host TEXT NOT NULL, 
    queued INTEGER DEFAULT 0 NOT NULL, 
    PRIMARY KEY (job_id, host), 
    FOREIGN KEY(job_id) REFERENCES webhook.jobs (id) ON DELETE CASCADE
);

CREATE TABLE webhook.hosts (
    host TEXT NOT NULL, 
    next_at BIGINT DEFAULT 0 NOT NULL, 
    delay_ms INTEGER DEFAULT 0 NOT NULL, 
    robots_status INTEGER, 
    robots_at BIGINT, 
    robots_failures INTEGER DEFAULT 0 NOT NULL, 
    robots BYTEA, 
    PRIMARY KEY (host)
);

CREATE TABLE webhook.outbox (
    id BIGSERIAL NOT NULL, 
    job_id TEXT NOT NULL, 
    owner TEXT NOT NULL, 
    event VARCHAR(30) NOT NULL, 
    state VARCHAR(10) NOT NULL, 
    tries INTEGER DEFAULT 0 NOT NULL, 
    created_at BIGINT NOT NULL, 
    next_at BIGINT NOT NULL, 
    finished_at BIGINT, 
    url TEXT NOT NULL, 
    error TEXT, 
    payload TEXT NOT NULL, 
    PRIMARY KEY (id)
);

CREATE INDEX idx_outbox_next_at ON webhook.outbox (next_at) WHERE state = 'waiting';

CREATE INDEX idx_outbox_job_id ON webhook.outbox (job_id, id);

CREATE TABLE webhook.schedules (
    name TEXT NOT NULL, 
    owner TEXT NOT NULL, 
    kind VARCHAR(20) NOT NULL, 
    cron TEXT NOT NULL, 
    next_at BIGINT NOT NULL, 
    spec TEXT NOT NULL, 
    PRIMARY KEY (name)
);

CREATE INDEX idx_schedules_next_at ON webhook.schedules (next_at);

UPDATE webhook.alembic_version SET version_num='0002' WHERE webhook.alembic_version.version_num = '0001';

-- Running upgrade 0002 -> 0003

CREATE TABLE webhook.indexed_pages (
    id BIGSERIAL NOT NULL, 
    version_id BIGINT NOT NULL, 
    page_hash TEXT NOT NULL, 
    owner TEXT, 
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL, 
    site TEXT NOT NULL, 
    published_at BIGINT, 
    first_seen_at BIGINT NOT NULL, 
    content BIGINT NOT NULL, 
    vector BYTEA, 
    title TEXT NOT NULL, 
    PRIMARY KEY (id), 
    CONSTRAINT indexed_pages_page_hash_unique UNIQUE (page_hash), 
    FOREIGN KEY(version_id) REFERENCES webhook.saved_versions (id) ON DELETE CASCADE
);

CREATE INDEX idx_indexed_pages_version_id ON webhook.indexed_pages (version_id);

CREATE TEXT SEARCH DICTIONARY webhook.cinder_stem (TEMPLATE = snowball, Language = english);

CREATE TEXT SEARCH CONFIGURATION webhook.cinder_words (COPY = pg_catalog.simple);

ALTER TEXT SEARCH CONFIGURATION webhook.cinder_words
    ALTER MAPPING FOR asciiword, word, numword WITH webhook.cinder_stem;

CREATE TABLE webhook.page_words (
    id BIGINT NOT NULL, 
    text TEXT NOT NULL, 
    words TSVECTOR NOT NULL, 
    PRIMARY KEY (id), 
    FOREIGN KEY(id) REFERENCES webhook.indexed_pages (id) ON DELETE CASCADE
);

CREATE INDEX idx_page_words_words ON webhook.page_words USING gin (words);

CREATE FUNCTION webhook.pages_with(query tsquery, most bigint) RETURNS SETOF bigint
LANGUAGE sql STABLE ROWS 1000 SET enable_seqscan = off
AS $$ SELECT id FROM webhook.page_words WHERE words @@ query ORDER BY id DESC LIMIT most $$;

UPDATE webhook.alembic_version SET version_num='0003' WHERE webhook.alembic_version.version_num = '0002';

-- Running upgrade 0003 -> 0004

CREATE TABLE webhook.tokens (
    id TEXT NOT NULL, 
    name TEXT NOT NULL, 
    secret_hash TEXT NOT NULL, 
    scopes TEXT NOT NULL, 
    policy TEXT NOT NULL, 
    created_at BIGINT NOT NULL, 
    last_used_at BIGINT, 
    PRIMARY KEY (id), 
    CONSTRAINT tokens_name_unique UNIQUE (name), 
    CONSTRAINT tokens_secret_hash_unique UNIQUE (secret_hash)
);

CREATE TABLE webhook.token_pages (
    token_id TEXT NOT NULL, 
    day TEXT NOT NULL, 
    pages BIGINT NOT NULL, 
    PRIMARY KEY (token_id, day), 
    FOREIGN KEY(token_id) REFERENCES webhook.tokens (id) ON DELETE CASCADE
);

CREATE UNLOGGED TABLE webhook.counts (
    name TEXT NOT NULL, 
    amount BIGINT NOT NULL, 
    ends_at BIGINT NOT NULL, 
    PRIMARY KEY (name)
);

UPDATE webhook.alembic_version SET version_num='0004' WHERE webhook.alembic_version.version_num = '0003';

-- Running upgrade 0004 -> 0005

CREATE TABLE webhook.recipes (
    id BIGSERIAL NOT NULL, 
    place_hash TEXT NOT NULL, 
    site TEXT NOT NULL, 
    shape TEXT NOT NULL, 
    wish TEXT NOT NULL, 
    owner TEXT, 
    created_at BIGINT NOT NULL, 
    used_at BIGINT NOT NULL, 
    uses INTEGER DEFAULT 0 NOT NULL, 
    successes INTEGER DEFAULT 0 NOT NULL, 
    failures INTEGER DEFAULT 0 NOT NULL, 
    learned_from TEXT NOT NULL, 
    summary TEXT NOT NULL, 
    rules TEXT NOT NULL, 
    PRIMARY KEY (id), 
    CONSTRAINT recipes_place_hash_unique UNIQUE (place_hash)
);

CREATE INDEX idx_recipes_wish_site ON webhook.recipes (wish, site);

CREATE INDEX idx_recipes_used_at ON webhook.recipes (used_at);

UPDATE webhook.alembic_version SET version_num='0005' WHERE webhook.alembic_version.version_num = '0004';

-- Running upgrade 0005 -> 0006

ALTER TABLE webhook.jobs ADD COLUMN bytes_fetched BIGINT DEFAULT 0 NOT NULL;

UPDATE webhook.alembic_version SET version_num='0006' WHERE webhook.alembic_version.version_num = '0005';

-- Running upgrade 0006 -> 0007

ALTER TABLE webhook.job_hosts ADD COLUMN next_at BIGINT DEFAULT 0 NOT NULL;

UPDATE webhook.alembic_version SET version_num='0007' WHERE webhook.alembic_version.version_num = '0006';

-- Running upgrade 0007 -> 0008

DO $$ BEGIN
    ALTER TABLE webhook.scrape_cache ALTER COLUMN document SET COMPRESSION lz4, ALTER COLUMN raw_content SET COMPRESSION lz4, ALTER COLUMN cleaned_content SET COMPRESSION lz4, ALTER COLUMN extracted_content SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END $$;

DO $$ BEGIN
    ALTER TABLE webhook.page_words ALTER COLUMN text SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END $$;

DO $$ BEGIN
    ALTER TABLE webhook.outbox ALTER COLUMN payload SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END $$;

UPDATE webhook.alembic_version SET version_num='0008' WHERE webhook.alembic_version.version_num = '0007';

-- Running upgrade 0008 -> 0009

ALTER TABLE webhook.jobs ADD COLUMN disallowed INTEGER DEFAULT 0 NOT NULL;

ALTER TABLE webhook.jobs ADD COLUMN outside INTEGER DEFAULT 0 NOT NULL;

ALTER TABLE webhook.jobs ADD COLUMN duplicates INTEGER DEFAULT 0 NOT NULL;

ALTER TABLE webhook.jobs ADD COLUMN traps INTEGER DEFAULT 0 NOT NULL;

ALTER TABLE webhook.jobs ADD COLUMN left_out INTEGER DEFAULT 0 NOT NULL;

ALTER TABLE webhook.jobs ADD COLUMN too_deep INTEGER DEFAULT 0 NOT NULL;

ALTER TABLE webhook.frontier ADD COLUMN crashes INTEGER DEFAULT 0 NOT NULL;

ALTER TABLE webhook.frontier ADD COLUMN position INTEGER;

ALTER TABLE webhook.frontier ADD COLUMN fate_position INTEGER;

ALTER TABLE webhook.frontier ADD COLUMN error_position INTEGER;

UPDATE webhook.jobs SET
    disallowed = (SELECT count(*) FROM webhook.frontier f WHERE f.job_id = jobs.id AND f.fate = 'disallowed by robots'),
    outside = (SELECT count(*) FROM webhook.frontier f WHERE f.job_id = jobs.id AND f.fate = 'outside scope'),
    duplicates = (SELECT count(*) FROM webhook.frontier f WHERE f.job_id = jobs.id AND f.fate = 'duplicate of'),
    traps = (SELECT count(*) FROM webhook.frontier f WHERE f.job_id = jobs.id AND f.fate = 'trap'),
    left_out = (SELECT count(*) FROM webhook.frontier f WHERE f.job_id = jobs.id AND f.fate = 'left out'),
    too_deep = (SELECT count(*) FROM webhook.frontier f WHERE f.job_id = jobs.id AND f.fate = 'outside scope' AND f.reason = 'deeper than maxDepth')
 WHERE dropped_at IS NULL;

DROP INDEX webhook.idx_frontier_fate;

UPDATE webhook.frontier SET position = places.position, fate_position = places.fate_position,
       error_position = places.error_position
  FROM (SELECT id AS page_id,
               row_number() OVER (PARTITION BY job_id ORDER BY id) - 1 AS position,
               CASE WHEN fate IS NOT NULL THEN row_number() OVER (
                    PARTITION BY job_id, fate ORDER BY finished_at, id) - 1 END AS fate_position,
               CASE WHEN fate IN ('failed', 'disallowed by robots') THEN row_number() OVER (
                    PARTITION BY job_id, fate IN ('failed', 'disallowed by robots')
                    ORDER BY finished_at, id) - 1 END AS error_position
          FROM webhook.frontier) AS places
 WHERE frontier.id = places.page_id;

ALTER TABLE webhook.frontier ALTER COLUMN position SET NOT NULL;

CREATE INDEX idx_frontier_position ON webhook.frontier (job_id, position);

CREATE INDEX idx_frontier_fate ON webhook.frontier (job_id, fate, fate_position) WHERE fate_position IS NOT NULL;

CREATE INDEX idx_frontier_errors ON webhook.frontier (job_id, error_position) WHERE error_position IS NOT NULL;

CREATE INDEX idx_frontier_suspects ON webhook.frontier (job_id, crashes, id) WHERE state = 'suspect';

UPDATE webhook.alembic_version SET version_num='0009' WHERE webhook.alembic_version.version_num = '0008';

COMMIT;

