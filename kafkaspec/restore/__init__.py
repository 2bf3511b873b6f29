"""Make a cluster that a broker starts with from the log directories that are left."""
