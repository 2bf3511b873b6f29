package kafkaspec

// Version of the package: that of kafkaspec, which it was made by.
const Version = "@VERSION@"
