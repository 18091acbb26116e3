"""Inside: the named values of a model, and what reads or edits them."""
