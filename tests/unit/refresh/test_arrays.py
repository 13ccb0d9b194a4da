"""Array literals as PostgreSQL's own rules want them; the rules of the oracle tests send them to a server."""

from __future__ import annotations

import pyarrow as pa
import pytest

from runnel.refresh.arrays import array_literal


@pytest.mark.parametrize(
    ("values", "literal"),
    [
        ([], "{}"),
        (["a", None, "", "NULL"], '{"a",NULL,"","NULL"}'),
        (['say "x"', "back\\slash", '\\"'], '{"say \\"x\\"","back\\\\slash","\\\\\\""}'),
        ([" a,b ", "{}", "größe\n"], '{" a,b ","{}","größe\n"}'),
    ],
)
def test_texts(values: list[str | None], literal: str) -> None:
    assert array_literal(pa.chunked_array([pa.array(values, pa.string())])) == literal


def test_integers() -> None:
    assert array_literal(pa.chunked_array([pa.array([1, None]), pa.array([-5])])) == "{1,NULL,-5}"


def test_no_rows() -> None:
    assert array_literal(pa.chunked_array([], pa.string())) == "{}"
