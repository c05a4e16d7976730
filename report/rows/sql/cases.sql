-- One row for each trace and card: the setting that does best, and what it takes. `winners` is best.sql, and not the
-- view `best`: SQLite distrusts json_extract in the schema of a file (TRUSTED_SCHEMA is off).
SELECT f.trace_path, f.device, f.runs, f.survived, b.policy, b.card_peak_bytes, b.alike, f.live_peak_bytes,
       f.offline_plan_bytes, f.is_lower_bound
FROM fits f
LEFT JOIN winners b ON b.trace_path = f.trace_path AND b.trace_digest = f.trace_digest AND b.device = f.device
ORDER BY 1, 2
