package org.apache.kafka.common.utils.internals;

/** Makes the package exist before Kafka 4.4, so that one source can import it and the old one. */
final class NotYet {}
