-- From 0011: the rank of a URL, by which a crawl fetches pages in the order that a person expects.
ALTER TABLE frontier ADD COLUMN rank INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job_hosts ADD COLUMN rank INTEGER NOT NULL DEFAULT 0;
UPDATE frontier SET rank = depth * 8
 WHERE state = 'queued' AND job_id IN (SELECT id FROM jobs WHERE kind = 'crawl');
DROP INDEX idx_frontier_queued;
CREATE INDEX idx_frontier_queued ON frontier (job_id, host, rank, id)
 WHERE state = 'queued';
UPDATE alembic_version SET version_num = '0012';
