"""Both notebooks, the landing page and the tables, made from golden records by the real path."""
