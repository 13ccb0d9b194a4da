# ruff: noqa: E501 - a statement stands on one line
"""Cases that incremental view maintenance gets wrong in practice, each as tables, queries and steps.

A step is one transaction. Every case runs in one batch and split over refreshes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """`streams` become s1, s2, …; `full` says which have a construct without a rule yet."""

    name: str
    setup: str
    streams: tuple[str, ...]
    steps: tuple[str, ...]
    full: tuple[int, ...] = ()


_PAIR = "CREATE TABLE l (k int, v int); CREATE TABLE r (k int, w int)"
_JOIN = "SELECT l.k, v, w FROM l JOIN r ON l.k = r.k"
_ONE = "CREATE TABLE t (id int PRIMARY KEY, g text, x int)"
_SUMS = "SELECT g, count(*) AS n, count(x) AS c, sum(x) AS s, avg(x) AS a, min(x) AS low, max(x) AS high FROM t GROUP BY g"

CASES = (
    Case(
        "right side deleted while the left side moves",
        f"{_PAIR}; INSERT INTO l VALUES (1, 10), (2, 20); INSERT INTO r VALUES (1, 1), (2, 2)",
        (_JOIN,),
        ("DELETE FROM r WHERE k = 1", "UPDATE l SET k = 2 WHERE k = 1"),
    ),
    Case(
        "matching rows inserted on both sides",
        _PAIR,
        (_JOIN, "SELECT l.k, count(*) AS n, sum(v * w) AS s FROM l JOIN r ON l.k = r.k GROUP BY l.k"),
        ("INSERT INTO l VALUES (1, 10)", "INSERT INTO r VALUES (1, 1)", "INSERT INTO l VALUES (1, 11)"),
    ),
    Case(
        "a column compared with two columns",
        f"{_PAIR}; INSERT INTO l VALUES (1, 1), (1, 2), (2, 2); INSERT INTO r VALUES (1, 1), (2, 3)",
        ("SELECT l.k, l.v, r.w FROM l JOIN r ON l.k = r.k AND l.v = r.k",),
        ("INSERT INTO l VALUES (2, 2), (1, 1)", "UPDATE r SET k = 3 - k", "DELETE FROM l WHERE v = 1"),
    ),
    Case(
        "group keys that are not shown",
        f"{_ONE}; INSERT INTO t SELECT i, 'g' || i % 4, nullif(i % 3, 0) FROM generate_series(1, 12) AS i",
        (
            "SELECT count(*) AS n, max(x) AS high, count(DISTINCT x) AS d FROM t GROUP BY g",
            "SELECT sum(x) AS s, g FROM t GROUP BY g, x HAVING count(*) > 1",
            "SELECT s1.n, count(*) AS groups FROM s1 GROUP BY s1.n",
        ),
        (
            "INSERT INTO t VALUES (20, 'g1', 9), (21, NULL, 9)",
            "DELETE FROM t WHERE g = 'g2'; UPDATE t SET x = 1 WHERE id = 1",
            "UPDATE t SET g = 'g0' WHERE g = 'g3'; INSERT INTO t VALUES (22, 'g2', 5)",
            "DELETE FROM t",
        ),
    ),
    Case(
        "both sides deleted",
        f"{_PAIR}; INSERT INTO l VALUES (1, 10), (1, 10); INSERT INTO r VALUES (1, 1), (1, 2)",
        (_JOIN, "SELECT count(*) AS n FROM l JOIN r ON l.k = r.k"),
        ("DELETE FROM l WHERE k = 1", "DELETE FROM r WHERE k = 1"),
    ),
    Case(
        "self-join with insert and delete",
        f"{_ONE}; INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 3)",
        ("SELECT p.id, q.id AS other FROM t AS p JOIN t AS q ON p.g = q.g AND p.id <> q.id",),
        ("INSERT INTO t VALUES (4, 'a', 4)", "DELETE FROM t WHERE id = 1", "UPDATE t SET g = 'a' WHERE id = 3"),
    ),
    Case(
        "three-way join through a stream table, all three change",
        f"{_PAIR}; CREATE TABLE m (w int, u text); INSERT INTO l VALUES (1, 1), (2, 2);"
        " INSERT INTO r VALUES (1, 5), (2, 6); INSERT INTO m VALUES (5, 'five'), (6, 'six')",
        (_JOIN, "SELECT s1.k, s1.v, m.u FROM s1 JOIN m USING (w)"),
        ("UPDATE l SET v = v + 1", "UPDATE r SET w = 6 WHERE k = 1", "DELETE FROM m WHERE w = 5; UPDATE m SET u = 'x'"),
    ),
    Case(
        "three-way join",
        f"{_PAIR}; CREATE TABLE m (w int, u text)",
        ("SELECT l.k, u FROM l JOIN r ON l.k = r.k JOIN m ON m.w = r.w",),
        ("INSERT INTO l VALUES (1, 1); INSERT INTO r VALUES (1, 5)", "INSERT INTO m VALUES (5, 'a')"),
        full=(1,),
    ),
    Case(
        "NULL keys under =",
        f"{_PAIR}; INSERT INTO l VALUES (NULL, 1), (1, 2); INSERT INTO r VALUES (NULL, 1), (1, 2)",
        (_JOIN,),
        ("INSERT INTO l VALUES (NULL, 3), (1, 3)", "UPDATE r SET k = NULL WHERE k = 1", "UPDATE r SET k = 1"),
    ),
    Case(
        "NULL keys under IS NOT DISTINCT FROM",
        f"{_PAIR}; INSERT INTO l VALUES (NULL, 1), (1, 2); INSERT INTO r VALUES (NULL, 1), (1, 2)",
        ("SELECT v, w FROM l JOIN r ON l.k IS NOT DISTINCT FROM r.k",),
        ("INSERT INTO l VALUES (NULL, 3)", "DELETE FROM r WHERE k IS NULL"),
        full=(1,),
    ),
    Case(
        "last row of the NULL group deleted",
        f"{_ONE}; INSERT INTO t VALUES (1, NULL, 1), (2, NULL, 2), (3, 'a', 3)",
        (_SUMS,),
        ("DELETE FROM t WHERE id = 1", "DELETE FROM t WHERE id = 2", "INSERT INTO t VALUES (4, NULL, 4)"),
    ),
    Case(
        "an update moves a row: one group dies, another is born",
        f"{_ONE}; INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)",
        (_SUMS,),
        ("UPDATE t SET g = 'c' WHERE id = 1", "UPDATE t SET g = 'a' WHERE id = 2"),
    ),
    Case(
        "join key, group key and value updated together",
        f"{_PAIR}; INSERT INTO l VALUES (1, 10), (2, 20); INSERT INTO r VALUES (1, 1), (2, 2), (3, 3)",
        ("SELECT w, sum(v) AS s, min(v) AS low FROM l JOIN r ON l.k = r.k GROUP BY w",),
        ("UPDATE l SET k = k + 1, v = v * 2", "UPDATE r SET w = w + 1, k = k - 1"),
    ),
    Case(
        "sum over NULLs alone, then a value, then NULLs alone",
        f"{_ONE}; INSERT INTO t VALUES (1, 'a', NULL), (2, 'a', NULL)",
        (_SUMS, "SELECT sum(x) AS s, avg(x) AS a, max(x) AS m FROM t"),
        ("UPDATE t SET x = 0 WHERE id = 1", "UPDATE t SET x = NULL"),
    ),
    Case(
        "count(x) beside count(*) as x becomes NULL",
        f"{_ONE}; INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 2)",
        (_SUMS,),
        ("UPDATE t SET x = NULL WHERE id = 1", "UPDATE t SET x = NULL WHERE id = 2", "UPDATE t SET x = 3"),
    ),
    Case(
        "a global aggregate over nothing is one row",
        _ONE,
        (
            "SELECT count(*) AS n, sum(x) AS s, avg(x) AS a, min(g) AS low, count(DISTINCT g) AS d FROM t",
            "SELECT count(*) AS n FROM t HAVING count(*) > 0",
        ),
        ("INSERT INTO t VALUES (1, 'a', 1)", "DELETE FROM t", "INSERT INTO t VALUES (2, 'b', 2)"),
    ),
    Case(
        "HAVING over 3, 2, 3 rows",
        f"{_ONE}; INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 2), (3, 'a', 3)",
        ("SELECT g, sum(x) AS s FROM t GROUP BY g HAVING count(*) > 2",),
        ("DELETE FROM t WHERE id = 3", "UPDATE t SET x = 7 WHERE id = 1", "INSERT INTO t VALUES (4, 'a', 4)"),
    ),
    Case(
        "the minimum deleted: first a tie, then the last",
        f"{_ONE}; INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 1), (3, 'a', 5)",
        (_SUMS,),
        ("DELETE FROM t WHERE id = 1", "DELETE FROM t WHERE id = 2", "DELETE FROM t WHERE id = 3"),
    ),
    Case(
        "the maximum deleted and a higher one inserted",
        f"{_ONE}; INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 5)",
        (_SUMS,),
        ("DELETE FROM t WHERE id = 2", "INSERT INTO t VALUES (3, 'a', 9)", "UPDATE t SET x = -x"),
    ),
    Case(
        "count(DISTINCT): one of two equals deleted, then the last",
        f"{_ONE}; INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 1), (3, 'a', 2)",
        ("SELECT g, count(DISTINCT x) AS d, count(DISTINCT x) FILTER (WHERE id > 1) AS e FROM t GROUP BY g",),
        ("DELETE FROM t WHERE id = 1", "DELETE FROM t WHERE id = 2", "UPDATE t SET x = NULL"),
    ),
    Case(
        "NaN and infinities enter and leave sums of numerics",
        "CREATE TABLE t (id int, x numeric, y numeric(10, 2)); INSERT INTO t VALUES (1, 1.5, 1), (2, 2.50, 2)",
        ("SELECT sum(x) AS s, avg(x) AS a, max(x) AS m, sum(y) AS t, avg(y) AS b, min(y) AS l FROM t",),
        (
            "INSERT INTO t VALUES (3, 'NaN', 'NaN'), (4, 'Infinity', NULL)",
            "DELETE FROM t WHERE id = 3",
            "INSERT INTO t VALUES (5, '-Infinity', 7)",
            "DELETE FROM t WHERE id = 4",
            "DELETE FROM t WHERE id = 5",
        ),
    ),
    Case(
        "1e16, 1 and -1e16 as numerics",
        "CREATE TABLE t (id int, x numeric); INSERT INTO t VALUES (1, 1)",
        ("SELECT sum(x) AS s, avg(x) AS a FROM t",),
        ("INSERT INTO t VALUES (2, 1e16)", "INSERT INTO t VALUES (3, -1e16)", "DELETE FROM t WHERE id = 2"),
    ),
    Case(
        "floats: NaN and infinities enter and leave a sum",
        "CREATE TABLE t (id int, x float8); INSERT INTO t VALUES (1, 1)",
        ("SELECT sum(x) AS s, avg(x) AS a FROM t",),
        ("INSERT INTO t VALUES (2, 'NaN'), (3, 'Infinity')", "DELETE FROM t WHERE id = 2", "DELETE FROM t WHERE id = 3"),
        full=(1,),
    ),
    Case(
        "DISTINCT: one of two duplicates removed",
        f"{_ONE}; INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 2)",
        ("SELECT DISTINCT g FROM t",),
        ("DELETE FROM t WHERE id = 1", "DELETE FROM t WHERE id = 2"),
        full=(1,),
    ),
    Case(
        "a table without a key: one of three equal rows deleted",
        "CREATE TABLE t (g text, x numeric); INSERT INTO t VALUES ('a', 1.0), ('a', 1.0), ('a', 1.0), ('a', 1.00)",
        ("SELECT g, x FROM t", "SELECT x, count(*) AS n FROM t GROUP BY x"),
        (
            "DELETE FROM t WHERE ctid = (SELECT min(ctid) FROM t)",
            "DELETE FROM t WHERE ctid = (SELECT max(ctid) FROM t)",
            "UPDATE t SET x = 1.00 WHERE ctid = (SELECT max(ctid) FROM t)",
        ),
    ),
    Case(
        "insert and delete, delete and insert again, an update that changes nothing",
        f"{_ONE}; INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)",
        (_SUMS, "SELECT id, g FROM t WHERE x > 0"),
        (
            "INSERT INTO t VALUES (3, 'c', 3); DELETE FROM t WHERE id = 3",
            "DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (1, 'a', 1)",
            "UPDATE t SET x = x",
        ),
    ),
    Case(
        "two keys swapped",
        f"{_ONE}; INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)",
        (_SUMS, "SELECT id, g, x FROM t"),
        ("UPDATE t SET g = CASE g WHEN 'a' THEN 'b' ELSE 'a' END", "UPDATE t SET x = 3 - x"),
    ),
    Case(
        "TRUNCATE and INSERT in one transaction",
        f"{_ONE}; INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)",
        (_SUMS, "SELECT id, g FROM t", "SELECT count(*) AS n, sum(s) AS s FROM s1"),
        ("TRUNCATE t; INSERT INTO t VALUES (2, 'b', 2), (3, 'c', 3)", "UPDATE t SET x = 5", "TRUNCATE t"),
    ),
    Case(
        "a savepoint rolled back",
        f"{_ONE}; INSERT INTO t VALUES (1, 'a', 1)",
        (_SUMS,),
        (
            "BEGIN; INSERT INTO t VALUES (2, 'b', 2); SAVEPOINT p; DELETE FROM t; ROLLBACK TO p; COMMIT",
            "BEGIN; DELETE FROM t; ROLLBACK",
            "BEGIN; SAVEPOINT p; UPDATE t SET x = 9; RELEASE p; COMMIT",
        ),
    ),
    Case(
        "a diamond over one base",
        f"{_ONE}; INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)",
        (
            "SELECT g, count(*) AS n FROM t GROUP BY g",
            "SELECT g, sum(x) AS s FROM t GROUP BY g",
            "SELECT s1.g, n, s FROM s1 JOIN s2 ON s1.g = s2.g",
        ),
        ("INSERT INTO t VALUES (3, 'a', 5), (4, 'c', 4)", "DELETE FROM t WHERE g = 'b'", "UPDATE t SET g = 'd' WHERE id = 1"),
    ),
    Case(
        "upstream FULL, downstream an exact delta",
        f"{_ONE}; INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 2)",
        ("SELECT DISTINCT g, x FROM t", "SELECT g, count(*) AS n, sum(x) AS s FROM s1 GROUP BY g"),
        ("INSERT INTO t VALUES (4, 'a', 1), (5, 'c', 1)", "DELETE FROM t WHERE id = 2", "UPDATE t SET x = 1"),
        full=(1,),
    ),
    Case(
        "equal numerics of several forms as group and join keys",
        "CREATE TABLE t (k numeric, x int); CREATE TABLE u (k numeric(10, 3), y int);"
        " INSERT INTO t VALUES (1.0, 1), (1.00, 2), (2, 3); INSERT INTO u VALUES (1, 10), (2, 20)",
        (
            "SELECT k, count(*) AS n, sum(x) AS s FROM t GROUP BY k",
            "SELECT t.x, u.y FROM t JOIN u ON t.k = u.k",
            "SELECT count(DISTINCT k) AS d, min(k) AS low FROM t",
        ),
        ("DELETE FROM t WHERE x = 1", "INSERT INTO t VALUES (1.000, 4), (2.0, 5), ('NaN', 6)", "DELETE FROM t WHERE x = 2"),
    ),
    Case(
        "negative zero and padded characters as keys",
        "CREATE TABLE t (c char(3), j jsonb, x int); INSERT INTO t VALUES ('a', '1', 1), ('a  ', '1.0', 2)",
        ("SELECT c, j, count(*) AS n FROM t GROUP BY c, j",),
        ("INSERT INTO t VALUES ('a ', '1.00', 3), ('b', '{\"a\": 1}', 4)", "DELETE FROM t WHERE x = 1"),
        full=(1,),
    ),
    Case(
        "group keys too wide for an index",
        "CREATE TABLE t (id int PRIMARY KEY, g text);"
        " INSERT INTO t SELECT i, (SELECT string_agg(md5(j::text), '') FROM generate_series(1, 200) AS j)"
        " FROM generate_series(1, 2) AS i",
        ("SELECT g, count(*) AS n FROM t GROUP BY g", "SELECT g FROM t", "SELECT max(g) AS m FROM t"),
        ("UPDATE t SET g = 'x' || g WHERE id = 1", "UPDATE t SET g = 'x' || g WHERE id = 2", "DELETE FROM t WHERE id = 1"),
    ),
    Case(
        "an expression that could raise on rows the query never sees",
        f"{_PAIR}; INSERT INTO l VALUES (0, 1), (1, 1); INSERT INTO r VALUES (1, 5)",
        (
            "SELECT 100 / l.k AS q, w FROM l JOIN r ON l.k = r.k",
            "SELECT sum(100 / k) AS s FROM l WHERE k <> 0",
            "SELECT 100 / k AS q FROM l WHERE k <> 0 AND 100 / k > 10",
        ),
        ("INSERT INTO l VALUES (0, 7), (5, 7)", "UPDATE l SET k = 4 WHERE k = 5; INSERT INTO r VALUES (4, 1)"),
    ),
    Case(
        "integer sums that pass the range of their column",
        "CREATE TABLE t (id int, i int, b bigint); INSERT INTO t VALUES (1, 2147483647, 9223372036854775807)",
        ("SELECT sum(i) AS i, sum(b) AS b, avg(b) AS a FROM t",),
        (
            "INSERT INTO t SELECT n, 2147483647, 9223372036854775807 FROM generate_series(2, 9) AS n",
            "DELETE FROM t WHERE id > 1",
            "UPDATE t SET i = -2147483648, b = -9223372036854775808",
        ),
    ),
    Case(
        "infinite dates and far years",
        "CREATE TABLE t (d date, ts timestamp, tz timestamptz);"
        " INSERT INTO t VALUES ('infinity', '294276-12-30', '-infinity'), ('0044-03-15 BC', '-infinity', '4000-01-01')",
        (
            "SELECT d, count(*) AS n, max(ts) AS m, min(tz) AS l FROM t GROUP BY d",
            "SELECT d, ts, tz FROM t",
            "SELECT date_trunc('day', tz) AS day, count(DISTINCT d) AS n FROM t GROUP BY date_trunc('day', tz)",
        ),
        ("INSERT INTO t VALUES ('5874897-12-31', 'infinity', '294276-12-30 UTC')", "DELETE FROM t WHERE d = 'infinity'"),
    ),
    Case(
        "ts::date across a change of daylight saving",
        "CREATE TABLE t (tz timestamptz, x int); INSERT INTO t VALUES ('2024-03-31 00:30+01', 1), ('2024-03-31 22:30+00', 2)",
        ("SELECT tz::date AS day, sum(x) AS s FROM t GROUP BY tz::date",),
        ("INSERT INTO t VALUES ('2024-03-31 03:30+02', 3), ('2024-10-27 23:30+00', 4)", "UPDATE t SET tz = tz + '1 hour'"),
    ),
    Case(
        "column names that collide with ours",
        'CREATE TABLE t (w int, n int, h text, k1 int, o1 int, c1 int, at int, "Id" int, id int);'
        " INSERT INTO t VALUES (1, 2, 'h', 4, 5, 6, 7, 8, 9)",
        (
            "SELECT k1, h, count(*) AS n, sum(w) AS w, max(o1) AS o1, min(c1) AS at, sum(n) AS f1 FROM t GROUP BY k1, h",
            'SELECT w, n, h, "Id", id, at FROM t',
            "SELECT t.w, d.n AS o1, staged.h AS k1 FROM t JOIN t AS d ON t.id = d.id JOIN t AS staged ON d.id = staged.id",
            "SELECT r.w * p.n AS o1, r.h AS r, p.at AS w FROM t AS r JOIN t AS p ON r.id = p.id",
            "SELECT d.h, sum(d.w / q.n) AS lives, count(*) AS minus FROM t AS d JOIN t AS q ON d.id = q.id GROUP BY d.h",
        ),
        ("INSERT INTO t VALUES (2, 2, 'h', 4, 6, 7, 8, 9, 10)", "UPDATE t SET h = 'i', w = 0", "DELETE FROM t WHERE id = 9"),
        full=(3,),
    ),
)  # fmt: skip
