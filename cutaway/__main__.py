"""`python -m cutaway` is `cutaway`."""

from cutaway.cli import main

if __name__ == "__main__":
    main()
