"""One file a verb: its name is the verb, its docstring the line of help, ``ABILITY`` the description."""
