"""The DuckLake 1.0 format: read and committed with plain SQL, its Parquet files with DuckDB."""
