"""Parquet files of a lake: one is written from Arrow, and read as it stands at a snapshot."""

from runnel.lake.files.scan import ScanTask, scan_tasks
from runnel.lake.files.write import WriteOptions, WrittenFile, write_file

__all__ = ["ScanTask", "WriteOptions", "WrittenFile", "scan_tasks", "write_file"]
