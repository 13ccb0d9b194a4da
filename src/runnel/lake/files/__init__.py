"""Parquet files of a lake: one is written from Arrow, and read as it stands at a snapshot."""

from runnel.lake.files.write import WriteOptions, WrittenFile, write_file

__all__ = ["WriteOptions", "WrittenFile", "write_file"]
