"""Random histories, and PostgreSQL itself as the judge of what a stream table must hold."""
