"""Tasks (data and answers) and learners (a model and how rows become its inputs)."""
