"""Views of models that restore what is hidden: cells of tables, vertices and edges of graphs."""
