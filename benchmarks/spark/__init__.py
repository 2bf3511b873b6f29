"""The data source of Spark against Spark's own Parquet and Kafka sources, in one run."""
