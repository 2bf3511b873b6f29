"""The site of the documentation: ``make docs`` builds it from the pages of the repository."""
