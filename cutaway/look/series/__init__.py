"""Pictures of series: values over time, forecasts, and what a model makes of them."""
