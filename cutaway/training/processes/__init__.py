"""One process that trains, or many that train together."""
