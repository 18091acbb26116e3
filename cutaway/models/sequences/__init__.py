"""Models that say something of whole sequences: classes and tags."""
