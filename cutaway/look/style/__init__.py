"""How pictures and pages look: colours, theme, style sheet, wording."""
