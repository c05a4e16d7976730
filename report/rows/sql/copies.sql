-- Quantiles over the changed copies that get through, by nearest rank (copy_summary.h). A run has its place among the n
-- of its group, in order of the column.
WITH placed AS (
    SELECT *, outcome = 'ok' AS is_ok, count(*) OVER alike AS n,
           row_number() OVER (alike ORDER BY peak_reserved_bytes) AS by_reserved,
           row_number() OVER (alike ORDER BY card_peak_bytes) AS by_card,
           row_number() OVER (alike ORDER BY device_time_ns) AS by_time
    FROM runs
    WHERE copy_seed IS NOT NULL
    WINDOW alike AS (PARTITION BY trace_path, trace_digest, device, policy, copy_sizes_percent, start, on_oom, gpu,
                                  releases, version, outcome = 'ok'))
SELECT trace_path, trace_digest, device, policy, copy_sizes_percent, count(*) AS copies, sum(is_ok) AS survived,
       min(CASE WHEN is_ok THEN peak_reserved_bytes END) AS peak_reserved_bytes_least,
       min(CASE WHEN is_ok AND 4 * by_reserved >= n THEN peak_reserved_bytes END) AS peak_reserved_bytes_lower,
       min(CASE WHEN is_ok AND 4 * by_reserved >= 2 * n THEN peak_reserved_bytes END) AS peak_reserved_bytes_median,
       min(CASE WHEN is_ok AND 4 * by_reserved >= 3 * n THEN peak_reserved_bytes END) AS peak_reserved_bytes_upper,
       min(CASE WHEN is_ok AND 4 * by_reserved >= 4 * n THEN peak_reserved_bytes END) AS peak_reserved_bytes_most,
       min(CASE WHEN is_ok THEN card_peak_bytes END) AS card_peak_bytes_least,
       min(CASE WHEN is_ok AND 4 * by_card >= n THEN card_peak_bytes END) AS card_peak_bytes_lower,
       min(CASE WHEN is_ok AND 4 * by_card >= 2 * n THEN card_peak_bytes END) AS card_peak_bytes_median,
       min(CASE WHEN is_ok AND 4 * by_card >= 3 * n THEN card_peak_bytes END) AS card_peak_bytes_upper,
       min(CASE WHEN is_ok AND 4 * by_card >= 4 * n THEN card_peak_bytes END) AS card_peak_bytes_most,
       min(CASE WHEN is_ok THEN device_time_ns END) AS device_time_ns_least,
       min(CASE WHEN is_ok AND 4 * by_time >= n THEN device_time_ns END) AS device_time_ns_lower,
       min(CASE WHEN is_ok AND 4 * by_time >= 2 * n THEN device_time_ns END) AS device_time_ns_median,
       min(CASE WHEN is_ok AND 4 * by_time >= 3 * n THEN device_time_ns END) AS device_time_ns_upper,
       min(CASE WHEN is_ok AND 4 * by_time >= 4 * n THEN device_time_ns END) AS device_time_ns_most
FROM placed
GROUP BY trace_path, trace_digest, device, policy, copy_sizes_percent, start, on_oom, gpu, releases, version
