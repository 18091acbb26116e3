"""The style of pictures and pages: colours, theme, style sheet, wording."""
