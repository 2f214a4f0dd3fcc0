"""The record as files for other programs: JSON lines, CSV, Parquet, OCSF, PROV; in parts, with a manifest."""
