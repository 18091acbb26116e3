"""Series over time: files and tables of them, their frequency, calendar and covariates; series with a class each."""
