module kafkaspec

go 1.22

require (
	github.com/OneOfOne/xxhash v1.2.8
	github.com/golang/snappy v1.0.0
	github.com/klauspost/compress v1.18.0
	github.com/pierrec/lz4/v4 v4.1.22
)
