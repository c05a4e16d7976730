-- Assumptions and warnings, and of how many runs. Not the view `remarks`, which the version wrote that made the
-- database. Details may be of anyone's making: best.sql.
WITH whole AS (
    SELECT CASE WHEN json_valid(details) OR json_valid(details || '') THEN details ELSE '{}' END AS details FROM runs)
SELECT is_warning, text, count(*)
FROM (SELECT 0 AS is_warning, a.value AS text FROM whole, json_each(whole.details, '$.assumptions') AS a
      UNION ALL
      SELECT 1, w.value FROM whole, json_each(whole.details, '$.warnings') AS w)
GROUP BY 1, 2
ORDER BY 1, 3 DESC, 2
