# frozen_string_literal: true

# ruby-kafka as a testee: its decoder of fetch responses.

require 'base64'
require 'json'
require 'kafka'

# A codec whose gem is not there: the runner sends what it would decompress to.
class Given
  class << self
    attr_accessor :left
  end

  def decompress(_data)
    Base64.strict_decode64(Given.left.shift)
  end
end

GIVEN = [2, 3, 4].freeze # snappy, lz4, zstd

module Kafka
  # Codecs by their ids, with those that are given.
  module Compression
    class << self
      alias own_codec find_codec_by_id

      def find_codec_by_id(id)
        GIVEN.include?(id) ? Given.new : own_codec(id)
      end
    end
  end
end

def base64(text)
  text && Base64.strict_encode64(text)
end

def milliseconds(time)
  time && (time.to_r * 1000).round
end

def response(data)
  partition = [0, 0, 0, 0, 0].pack('l>s>q>q>l>') + [data.bytesize].pack('l>') + data
  [0, 1, 3].pack('l>l>s>') + 'log' + [1].pack('l>') + partition
end

def records(data)
  decoder = Kafka::Protocol::Decoder.from_string(response(data))
  partition = Kafka::Protocol::FetchResponse.decode(decoder).topics[0].partitions[0]
  partition.messages.flat_map do |batch|
    next [] if batch.is_a?(Kafka::Protocol::RecordBatch) && batch.is_control_batch

    found = batch.is_a?(Kafka::Protocol::RecordBatch) ? batch.records : batch.messages
    found.map { |each| record(each) }
  end
end

def record(found)
  {
    offset: found.offset,
    timestamp: milliseconds(found.create_time),
    key: base64(found.key),
    value: base64(found.value),
    headers: found.headers.map { |key, value| [base64(key), base64(value)] }
  }
end

def answer(request)
  if request['kind'] == 'hello'
    return { protocol: 1, name: 'ruby-kafka', version: Kafka::VERSION, kinds: ['log'],
             compression: %w[none gzip], checksums: false }
  end
  Given.left = (request['decompressed'] || []).compact
  { records: records(Base64.strict_decode64(request['data'])) }
rescue StandardError, NoMemoryError => e
  { error: "#{e.class}: #{e.message}" }
end

$stdout.sync = true
$stdin.each_line do |line|
  request = JSON.parse(line)
  puts JSON.generate({ id: request['id'] }.merge(answer(request)))
end
