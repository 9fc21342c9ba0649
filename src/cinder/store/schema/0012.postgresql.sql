-- From 0011: the rank of a URL, by which a crawl fetches pages in the order that a person expects.
ALTER TABLE webhook.frontier ADD COLUMN rank INTEGER NOT NULL DEFAULT 0;
ALTER TABLE webhook.job_hosts ADD COLUMN rank INTEGER NOT NULL DEFAULT 0;
UPDATE webhook.frontier SET rank = depth * 8
 WHERE state = 'queued' AND job_id IN (SELECT id FROM webhook.jobs WHERE kind = 'crawl');
DROP INDEX webhook.idx_frontier_queued;
CREATE INDEX idx_frontier_queued ON webhook.frontier (job_id, host, rank, id)
 WHERE state = 'queued';
UPDATE webhook.alembic_version SET version_num = '0012';
