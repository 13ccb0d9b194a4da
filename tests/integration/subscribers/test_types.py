"""Every type that a sink takes, with the values at its edges, by the text of each side; and what it refuses."""

from __future__ import annotations

import pytest
from tests.integration.subscribers.conftest import House

from runnel.errors import UserError

_COLUMNS = {
    "a_bool": "boolean",
    "a_small": "smallint",
    "an_int": "integer",
    "a_big": "bigint",
    "a_text": "text",
    "a_varchar": "varchar(7)",
    "a_decimal": "numeric(10,2)",
    "a_wide": "numeric(38,10)",
    "a_plain": "numeric",
    "a_uuid": "uuid",
    "a_date": "date",
    "a_time": "time",
    "a_stamp": "timestamp",
    "an_instant": "timestamptz",
}
_ROWS = [
    "true, -32768, -2147483648, -9223372036854775808, '', '', -99999999.99, -9999999999999999999999999999.9999999999,"
    " 'NaN', '00000000-0000-0000-0000-000000000000', '-infinity', '00:00', '-infinity', '-infinity'",
    "false, 32767, 2147483647, 9223372036854775807, E'a\\'\\n\"é𝄞', 'seven77', 99999999.99, 0.0000000001, 1.50,"
    " 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'infinity', '23:59:59.999999', 'infinity', 'infinity'",
    "NULL, 0, 0, 0, repeat('long', 5000), 'x', 0, 0, 1e50, '6f1e2d3c-0000-4000-8000-000000000001', '1969-12-31',"
    " '12:30:00.5', '1969-12-31 23:59:59.999999', '2024-02-29 12:00:00.123456+14'",
    "NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
]


@pytest.mark.parametrize("mode", ["append", "replace"])
def test_values_arrive_as_they_are(house: House, mode: str) -> None:
    house.sql(f"CREATE TABLE t (id int, {', '.join(f'{name} {type_}' for name, type_ in _COLUMNS.items())})")
    names = ", ".join(_COLUMNS)
    pgt_id = house.create("s", f"SELECT {names} FROM t", mode)
    for i, row in enumerate(_ROWS):
        house.sql(f"INSERT INTO t VALUES ({i}, {row})")
    house.step(pgt_id)
    for change in ["SELECT 1", "DELETE FROM t WHERE id = 1", "UPDATE t SET a_text = 'z'"]:
        house.sql(change)
        house.step(pgt_id)
        assert sorted(map(repr, house.in_lake("s"))) == sorted(map(repr, house.in_postgres("s")))
    described = dict(row[:2] for row in house.judge.execute("DESCRIBE s").fetchall())
    assert described["a_decimal"] == "DECIMAL(10,2)"
    assert described["a_wide"] == "DECIMAL(38,10)"
    assert described["a_plain"] == "VARCHAR"
    assert described["a_uuid"] == "UUID"


def test_filters_find_rows_at_the_edges(house: House) -> None:
    """The statistics of a file must cover infinities, too."""
    house.sql("CREATE TABLE t (d date, i timestamptz, n numeric(10,2))")
    pgt_id = house.create("s", "SELECT d, i, n FROM t", "append")
    house.sql("INSERT INTO t VALUES ('infinity', 'infinity', -1), ('2024-01-01', '2024-01-01Z', 1.5)")
    house.step(pgt_id)
    house.sql(
        "INSERT INTO t VALUES ('-infinity', '-infinity', 99999999.99), ('0044-03-15 BC', '0044-03-15 BC', NULL)"
    )
    house.step(pgt_id)
    for condition, count in {
        "d > DATE '2030-01-01'": 1,
        "d < DATE '0001-01-01'": 2,
        "d = DATE 'infinity'": 1,
        "i < TIMESTAMPTZ '2000-01-01 00:00:00+00'": 2,
        "i > TIMESTAMPTZ '2024-01-01 00:00:00+00'": 1,
        "n >= 1.5": 2,
    }.items():
        assert house.judge.execute(f"SELECT count(*) FROM s WHERE {condition}").fetchone() == (count,), (
            condition
        )


def test_what_a_sum_in_the_lake_cannot_hold_is_an_error(house: House) -> None:
    house.sql("CREATE TABLE t (k int, v numeric(10,2))")
    house.scales = {"total": 2}
    pgt_id = house.create("s", "SELECT k, SUM(v) AS total FROM t GROUP BY k", "append")
    house.sql("INSERT INTO t VALUES (1, 1.25), (2, 2)")
    house.step(pgt_id)
    assert house.in_lake("s") == house.in_postgres("s")
    house.sql("INSERT INTO t VALUES (1, 'NaN')")
    house.refresh(pgt_id)
    with pytest.raises(UserError, match="the column total holds a value"):
        house.publish(pgt_id)
    house.sql("DELETE FROM t WHERE v = 'NaN'")
    house.refresh(pgt_id)


@pytest.mark.parametrize("type_", ["interval", "int[]", "inet"])
def test_types_without_a_counterpart_are_refused_by_name(house: House, type_: str) -> None:
    house.sql(f"CREATE TABLE t (k int, v {type_})")
    pgt_id = house.create("s", "SELECT k, v FROM t", "append")
    house.refresh(pgt_id)
    with pytest.raises(UserError, match="column v"):
        house.publish(pgt_id)
