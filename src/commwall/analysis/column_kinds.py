"""Types of columns, and the columns with which rows about a platform begin.

Layer: analysis. Reads and writes no file.
"""

TEXT, COUNT, NUMBER, TRUTH = "string", "Int64", "float64", "boolean"

PLATFORM = {
    "campaign": TEXT,
    "platform": TEXT,
    "label": TEXT,
    "emulated": TRUTH,
    "suite": TEXT,
    "case": TEXT,
}
