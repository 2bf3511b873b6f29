package org.apache.kafka.common.record.internal;

/** Makes the package exist before Kafka 4.3, so that one source can import it and the old one. */
final class NotYet {}
