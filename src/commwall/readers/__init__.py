"""Pure functions from a tool's text to a model.

Layer: readers; uses schema. Takes text that others read, so it reads and writes no file.

A module that reads what people paste stands in the registry of `commwall.readers.detection` and
offers three names:

- `KIND: str`, the kind of text it reads, such as `topo`.
- `looks_like(text) -> bool`: certain signs of the format, cheap, no reading. It may say yes to a
  text that `read` then refuses: a tool's own message of failure is of the tool's kind.
- `read(text) -> M`, where M is a `commwall.readers.reading.Reading`: what is certain. Its
  annotation names the model, so that a refused text can be told with the same fields.

Both take text that `commwall.readers.cleaning.clean` has cleaned, once for all readers, and both
take linear time. `read` has three ways to answer:

- a reading that is `readable`;
- a reading that is not, with `error` or `partial`, where the text is of this kind but says that
  the tool failed, or is cut off: what is certain stands in it, all else is None;
- `commwall.readers.refusal.Unreadable`, where nothing of the kind is certain.

None means that the text does not say, "unavailable" that the text says it cannot be had. Neither
is ever 0. Units are those of the tool and stand in the name of the field.
"""
