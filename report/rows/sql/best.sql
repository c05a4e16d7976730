-- Per trace and card, the run that wins: the rule of winner.h. The price is the one that the database holds, or the
-- default. `alike` is how many runs are within the margin of the lowest score. `least_card_bytes` is the least memory of
-- all runs that get through, whatever their driver time. Details may be of anyone's making; json_valid says no without
-- memory, too, and then the copy, which is looked at again, fails by itself.
SELECT trace_path, trace_digest, device, policy, peak_reserved_bytes, device_time_ns, place, card_peak_bytes,
       device_calls, least_card_bytes, score_bytes, alike
FROM (SELECT *, row_number() OVER (PARTITION BY trace_path, trace_digest, device
                                   ORDER BY is_alike DESC, CASE WHEN NOT is_alike THEN score_bytes END,
                                            (name = 'pytorch' OR own_order = 1) AND changed = 0 DESC,
                                            changed, score_bytes,
                                            length(policy), policy) AS place,
                sum(is_alike) OVER (PARTITION BY trace_path, trace_digest, device) AS alike
      FROM (SELECT *, score_bytes <= least_score + coalesce(capacity_bytes, least_score) / 50 AS is_alike
            FROM (SELECT *, min(score_bytes) OVER (PARTITION BY trace_path, trace_digest, device) AS least_score
                  FROM (SELECT *, CASE WHEN own_order > 0 THEN 0
                                  ELSE card + price * (device_time_ns / 1000000)
                                       + price * (device_time_ns % 1000000) / 1000000 END AS score_bytes,
                               CASE WHEN own_order > 0 THEN own_order - 1 ELSE n_changed END AS changed
                        FROM (SELECT *, coalesce(json_extract(facts, '$.changed'), 0) AS n_changed,
                                     coalesce(json_extract(facts, '$.own_order'), 0) AS own_order
                              FROM (SELECT trace_path, trace_digest, device, policy, name, peak_reserved_bytes,
                                           card_peak_bytes, device_calls, capacity_bytes, device_time_ns,
                                           coalesce(card_peak_bytes, peak_reserved_bytes) AS card,
                                           CASE WHEN json_valid(details) OR json_valid(details || '')
                                                THEN details ELSE '{}' END AS facts,
                                           min(card_peak_bytes) OVER (PARTITION BY trace_path, trace_digest, device)
                                               AS least_card_bytes,
                                           (SELECT coalesce(max(value), 1048576) FROM parameters
                                            WHERE parameters.name = 'price_bytes_per_ms') AS price
                                    FROM survivors
                                    WHERE copy_seed IS NULL))))))
WHERE place = 1
