"""Commands that say what happened to logs, and get back what can be had."""
