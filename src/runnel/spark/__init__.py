"""The Spark session, and what lives in its workers."""
