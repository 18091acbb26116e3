"""The docstrings of twelve modules: enough of each, and none gives its module's name away."""

import re
from collections import Counter

from cutaway.data.samples.docstrings import sample_docstrings


def test_texts():
    lines = "".join(sample_docstrings("python-modules").pieces()).splitlines()
    assert lines[0] == "module\ttext"
    rows = [line.split("\t") for line in lines[1:]]
    assert all(len(row) == 2 for row in rows)
    counts = Counter(label for label, _ in rows)
    assert len(counts) == 12
    assert min(counts.values()) > 30
    assert not [text for label, text in rows if re.search(rf"\b{label}\b", text, re.IGNORECASE)]
    assert (
        sample_docstrings("python-modules").fingerprint.digest == sample_docstrings("python-modules").fingerprint.digest
    )
