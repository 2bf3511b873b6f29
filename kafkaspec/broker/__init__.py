"""Rules of Kafka's brokers: what they accept, write beside a log, load, and recover."""
