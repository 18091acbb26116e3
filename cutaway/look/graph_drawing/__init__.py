"""The drawing of compute graphs: folded by module, laid out in rows, as SVG or as a page that unfolds and steps."""
