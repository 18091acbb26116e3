"""Series over time: files and tables of them, their frequency, calendar and covariates, and series with a class each."""
