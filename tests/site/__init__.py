"""The site as a reader meets it: opened as files, in a browser, by keyboard and in print."""
