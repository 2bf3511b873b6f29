"""Commands that show what logs hold, or hand it over."""
