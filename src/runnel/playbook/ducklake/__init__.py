"""The `ducklake` tool: SQL commands on a lake, in this process or in Spark's workers."""
