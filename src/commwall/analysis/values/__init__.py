"""What one record says: raw readings, what is derived from them, and why other values are absent.

Layer: analysis. Reads no file. `derive` asks the module of the record's suite.
"""
