"""Makes sure that there is a lake for the sinks to publish to."""

from __future__ import annotations

from runnel.catalog.client import setting
from runnel.catalog.connection import Connection
from runnel.errors import SchemaError, UserError
from runnel.lake.catalog import LakeCatalog, create_lake

DATA_PATH = "ducklake_data_path"


def ensure_lake(
    conn: Connection, dsn: str, metadata_schema: str = "ducklake", data_path: str | None = None
) -> None:
    """Creates our own lake in `metadata_schema` where there is none.

    Its files lie in `data_path`, or where the setting ducklake_data_path says.
    """
    wanted = data_path or setting(conn, DATA_PATH)
    if wanted is not None:
        create_lake(dsn, metadata_schema, wanted)
    elif not _is_there(conn, metadata_schema):
        raise UserError(
            f'there is no lake in the schema "{metadata_schema}", and no place for its files is known',
            hint=f"SELECT pgtrickle.set_setting('{DATA_PATH}', '/a/directory'), or pass a data path",
        )


def _is_there(conn: Connection, metadata_schema: str) -> bool:
    try:
        with conn.transaction():
            LakeCatalog(metadata_schema).newest(conn)
    except SchemaError:
        return False
    return True
