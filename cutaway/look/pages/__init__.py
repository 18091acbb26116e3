"""Pages: pictures, tables and samples in one HTML file."""
