"""Series: values in the order of time, and what is known beside them."""
