"""Evidence on disk: write, load, judge and compare records; decide what is still owed.

Layer: records; uses language and schema. Only this package knows where records lie, what makes
one valid or fresh, and which may be compared.
"""
