"""Three formats that are not Kafka's, with codecs of them by hand."""
