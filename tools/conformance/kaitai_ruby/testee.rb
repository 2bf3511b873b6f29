# The specification, compiled to Ruby, as a testee: ruby testee.rb BUILD
#
# BUILD holds what the official compiler made and types.json; GEM_PATH leads to the runtime.

require 'base64'
require 'json'
require 'kaitai/struct/struct'

BUILD = File.expand_path(ARGV.fetch(0))
TYPES = JSON.parse(File.read(File.join(BUILD, 'types.json')))
FILES = Dir.children(BUILD).grep(/\.rb\z/).map { |name| File.basename(name, '.rb') }
FILES.each { |file| require File.join(BUILD, file) }

def camel(name) = name.split('_').map(&:capitalize).join

CLASSES = TYPES.keys.to_h do |key|
  file, type = key.split('.')
  whole = Object.const_get(camel(file))
  [key, file == type ? whole : whole.const_get(camel(type))]
end
KEYS = CLASSES.invert

# Numbers of the members of all enumerations; their names begin with that of the enumeration.
NUMBERS = FILES.map { |file| Object.const_get(camel(file)) }.flat_map do |file|
  file.constants.grep(/\AI__/).map { |name| file.const_get(name) }
end.reduce { |all, enum| all.merge(enum) { |name, one, other| one == other ? one : raise(name) } }

def bytes(text) = Base64.strict_decode64(text)
def base64(data) = data && Base64.strict_encode64(data)
def stream(data) = Kaitai::Struct::Stream.new(data)

def parse(key, data, parameters = [])
  CLASSES.fetch(key).new(stream(data), nil, nil, *parameters)
end

def parameter(item)
  return item unless item.is_a?(Hash)

  parse(item['type'], bytes(item['data']), item['parameters'].map { |inner| parameter(inner) })
end

# A value as an answer has it: structures by the names of the specification, scalars as they are.
def tree(value)
  case value
  when String then base64(value)
  when Array then value.map { |item| tree(item) }
  when Symbol then NUMBERS.fetch(value)
  when Kaitai::Struct::Struct
    type = TYPES.fetch(KEYS.fetch(value.class))
    return tree(value.value) if type['scalar']

    names = value.class.instance_methods(false).map(&:to_s)
    names = names.reject { |name| name.start_with?('_') } - type['parameters']
    names.to_h { |name| [name, tree(value.public_send(name))] }
  else value
  end
end

# Yields each record batch with its records, and each legacy message with offset and timestamp.
def walk(request, on_batch, on_message)
  given = request['decompressed'] || []
  log = parse('recordbatch.recordbatch', bytes(request['data']))
  log.entries.each_with_index do |entry, index|
    content = entry.message.content
    payload = given[index] && bytes(given[index])
    if content.magic == 2
      set = parse('recordbatch.record_set', payload || content.records, [content])
      on_batch.call(content, set.records.map(&:body))
    elsif content.attributes.compression == :compression_type_none
      on_message.call(content, content.offset, content.timestamp)
    else
      unwrap(content, parse('recordbatch.recordbatch', payload).entries, on_message)
    end
  end
end

def unwrap(wrapper, inner, on_message)
  relative = wrapper.magic == 1 && wrapper.offset != 0
  shift = relative ? wrapper.offset - inner.last.base_offset : 0
  type = wrapper.attributes.timestamp_type
  appended = wrapper.magic == 1 && type == :timestamp_type_log_append_time
  inner.each do |entry|
    message = entry.message.content
    timed = appended && message.magic == 1
    timestamp = timed ? wrapper.timestamp : message.timestamp
    on_message.call(message, entry.base_offset + shift, timestamp)
  end
end

def record(offset, timestamp, key, value, headers)
  { offset: offset, timestamp: timestamp, key: tree(key), value: tree(value), headers: headers }
end

def records(request)
  found = []
  on_batch = lambda do |batch, all|
    next if batch.attributes.is_control

    all.each do |item|
      headers = item.headers.map { |header| [tree(header.key), tree(header.value)] }
      found << record(item.offset, item.timestamp, item.key, item.value, headers)
    end
  end
  walk(request, on_batch, lambda do |message, offset, timestamp|
    found << record(offset, timestamp, message.key, message.value, [])
  end)
  found
end

def control_records(request)
  found = []
  walk(request, lambda do |batch, all|
    next unless batch.attributes.is_control

    all.each do |item|
      type = tree(parse('control_record.control_record_key', item.key.value).type)
      body = parse('control_record.control_record_value', item.value.value, [type]).body
      epoch = body.respond_to?(:coordinator_epoch) ? body.coordinator_epoch : nil
      found << { offset: item.offset, type: type, coordinator_epoch: epoch }
    end
  end, ->(*) {})
  found
end

def entries(key, request, parameters = [])
  { entries: tree(parse(key, bytes(request['data']), parameters).entries) }
end

HANDLERS = {
  'log' => ->(request) { { records: records(request) } },
  'control_records' => ->(request) { { control_records: control_records(request) } },
  'offset_index' => lambda do |request|
    entries('index.offset_index', request, [request['base_offset']])
  end,
  'time_index' => ->(request) { entries('index.time_index', request, [request['base_offset']]) },
  'transaction_index' => ->(request) { entries('transaction_index.transaction_index', request) },
  'producer_snapshot' => ->(request) { entries('producer_snapshot.producer_snapshot', request) },
  'type' => lambda do |request|
    value = parameter(request)
    { value: tree(value), end: value._io.pos }
  end
}.freeze

def answer(request)
  if request['kind'] == 'hello'
    return { protocol: 1, name: 'Kaitai Struct Ruby', version: Kaitai::Struct::VERSION,
             kinds: HANDLERS.keys }
  end
  HANDLERS.fetch(request['kind']).call(request)
rescue StandardError => e
  { error: "#{e.class}: #{e.message}" }
end

$stdout.sync = true
$stdin.each_line do |line|
  request = JSON.parse(line)
  puts JSON.generate({ id: request['id'], **answer(request) }, allow_nan: true)
end
