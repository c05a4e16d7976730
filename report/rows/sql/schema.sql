-- All of a database of results but its table `runs`, whose columns are those of result_columns.def, and the views of
-- best.sql and copies.sql. Options and remarks vary in number. They are one JSON text of the run's row, so that writing
-- a run writes one row.

CREATE TABLE IF NOT EXISTS parameters(name TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE VIEW options AS
SELECT runs.key AS run, o.key AS name, o.value AS value
FROM runs, json_each(details, '$.options') AS o;

CREATE VIEW remarks AS
SELECT runs.key AS run, 'assumption' AS kind, a.key AS n, a.value AS text
FROM runs, json_each(details, '$.assumptions') AS a
UNION ALL
SELECT runs.key, 'warning', w.key, w.value
FROM runs, json_each(details, '$.warnings') AS w;

CREATE VIEW survivors AS SELECT * FROM runs WHERE outcome = 'ok';

CREATE VIEW ooms AS
SELECT key, trace_path, policy, device, oom_count, oom_first_event, oom_first_requested_bytes, oom_first_reserved_bytes,
       oom_first_device_free_bytes
FROM runs
WHERE oom_count > 0;

-- Per trace and card. Whether its figures are lower bounds is the rule of partial_recording.h.
CREATE VIEW fits AS
SELECT trace_path, trace_digest, device, count(*) AS runs, sum(outcome = 'ok') AS survived,
       min(CASE WHEN outcome = 'ok' THEN peak_reserved_bytes END) AS least_reserved_bytes,
       max(peak_reserved_bytes) AS most_reserved_bytes, max(trace_live_peak_bytes) AS live_peak_bytes,
       min(max(trace_offline_plan_bytes),
           coalesce(min(CASE WHEN outcome = 'ok' AND oom_count = 0 AND device_calls = segments_allocs
                             THEN peak_reserved_bytes END), max(trace_offline_plan_bytes))) AS offline_plan_bytes,
       max(coalesce(trace_refusals, 0) > 0 OR trace_begins IS 'cut' OR trace_ends IS 'cut') AS is_lower_bound
FROM runs
WHERE copy_seed IS NULL
GROUP BY trace_path, trace_digest, device;

-- Per job and setting, the rank that needs most.
CREATE VIEW ranks AS
SELECT job, policy, device_typed AS device, ranks, failed, rank AS worst_rank, trace_path AS worst_path,
       peak_reserved_bytes AS worst_bytes, spread_bytes
FROM (SELECT *, count(*) OVER w AS ranks, sum(outcome != 'ok') OVER w AS failed,
             max(peak_reserved_bytes) OVER w - min(peak_reserved_bytes) OVER w AS spread_bytes,
             row_number() OVER (PARTITION BY job, policy, device_typed, start, on_oom, gpu, releases, version
                                ORDER BY outcome != 'ok' DESC, peak_reserved_bytes DESC, rank) AS place
      FROM runs
      WHERE job IS NOT NULL AND copy_seed IS NULL
      WINDOW w AS (PARTITION BY job, policy, device_typed, start, on_oom, gpu, releases, version))
WHERE place = 1;
