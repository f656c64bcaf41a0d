"""A result for other tools: tables for SQL, spreadsheets and data frames (docs/export.md)."""
