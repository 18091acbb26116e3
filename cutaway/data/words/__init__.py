"""Words as they are counted, streamed and scored: for vectors of words."""
