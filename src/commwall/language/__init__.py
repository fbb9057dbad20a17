"""The languages that reports are written in: English in the code, others in catalogues.

Layer: language, just above schema. `translate` is what all text goes through, `messages` finds the
text in the code and keeps the catalogues (`zh/*.po`) complete.
"""
