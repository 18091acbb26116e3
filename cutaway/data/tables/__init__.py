"""Tables: reading CSV and Parquet, the kinds of columns, rows as arrays."""
