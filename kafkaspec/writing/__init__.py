"""Write segments and the files beside them as a broker of a chosen version does."""
