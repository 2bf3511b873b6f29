-- Reads Kafka's record batches in Wireshark: those in Produce requests and Fetch responses, as its own
-- dissector for Kafka finds them, and those of a file (tshark -X lua_script:kafkaspec.lua -r FILE).
-- Filters have the names of the specification: kafkaspec.recordbatch.record_batch.producer_id.

local enums, layouts, logs, payloads, control = {}, {}, {}, {}, nil

local function long(number)
  return type(number) == "number" and Int64(number) or number
end

local function number(value)
  return type(value) == "userdata" and value:tonumber() or value
end

local function pick(condition, yes, no)
  if condition then
    return yes()
  end
  return no()
end

-- @LAYOUTS@

local kafkaspec = Proto("kafkaspec", "Kafka's files")
local experts = {
  broken = ProtoExpert.new("kafkaspec.broken", "Not as the specification says",
    expert.group.MALFORMED, expert.severity.ERROR),
  unread = ProtoExpert.new("kafkaspec.unread", "Not decompressed here",
    expert.group.UNDECODED, expert.severity.NOTE),
}
local position = ProtoField.uint64("kafkaspec.position", "position", base.DEC, nil, nil,
  "Byte offset of the first byte in the file.")
local protos = {position}

local function declare(key, member, kind, display, mask)
  local abbreviation = "kafkaspec." .. key .. "." .. member.id
  member.proto = ProtoField.new(member.name or member.id, abbreviation, kind, member.enum,
    display, mask, member.doc)
  protos[#protos + 1] = member.proto
end

local INTEGERS = {ftypes.INT8, ftypes.INT16, ftypes.INT24, ftypes.INT32,
  ftypes.INT40, ftypes.INT48, ftypes.INT56, ftypes.INT64}
local NATURALS = {ftypes.UINT8, ftypes.UINT16, ftypes.UINT24, ftypes.UINT32,
  ftypes.UINT40, ftypes.UINT48, ftypes.UINT56, ftypes.UINT64}

local function declare_member(key, member)
  local inner = member.type and layouts[member.type]
  if member.guard then
    return
  elseif member.bits then
    local bits = member.bits
    local mask = (2 ^ bits.width - 1) * 2 ^ bits.shift
    if member.bool then
      declare(key, member, ftypes.BOOLEAN, 8 * bits.size, mask)
    else
      declare(key, member, NATURALS[bits.size], base.DEC, mask)
    end
  elseif member.int then
    declare(key, member, (member.signed and INTEGERS or NATURALS)[member.int], base.DEC)
  elseif member.float then
    declare(key, member, member.float == 8 and ftypes.DOUBLE or ftypes.FLOAT, base.NONE)
  elseif member.value then
    if member.bool then
      declare(key, member, ftypes.BOOLEAN, base.NONE)
    else
      declare(key, member, ftypes.INT64, base.DEC)
    end
  elseif member.bytes or (inner and inner.scalar) then
    declare(key, member, ftypes.BYTES, base.NONE)
  elseif inner and inner.varint then
    local kinds = inner.varint.zigzag and INTEGERS or NATURALS
    declare(key, member, kinds[inner.varint.bits / 8], base.DEC)
  else
    declare(key, member, ftypes.NONE, base.NONE)
  end
  if member.count or member.eos then
    member.list = ProtoField.new(member.name or member.id, "kafkaspec." .. key .. "." .. member.id ..
      ".items", ftypes.NONE, nil, base.NONE, nil, member.doc)
    protos[#protos + 1] = member.list
  end
end

for key, layout in pairs(layouts) do
  for _, part in ipairs({"fields", "values"}) do
    for _, member in ipairs(layout[part] or {}) do
      declare_member(key, member)
    end
  end
end

-- A part of the bytes, which ends at a limit.
local Reader = {}
Reader.__index = Reader

local function reader(tvb, first, limit)
  return setmetatable({tvb = tvb, first = first, at = first, limit = limit}, Reader)
end

function Reader:left()
  return self.limit - self.at
end

function Reader:fail(text)
  error({text = text, at = self.at}, 0)
end

function Reader:take(size)
  size = number(size)
  if size < 0 then
    self:fail("the size is " .. size)
  elseif size > self:left() then
    self:fail(size .. " bytes are needed, and " .. self:left() .. " are left")
  end
  self.at = self.at + size
  return self.at - size, size
end

function Reader:range(start, size)
  return size > 0 and self.tvb:range(start, size) or nil
end

local function add(tree, proto, tvb, start, size, value)
  if tree == nil then
    return nil
  elseif value == nil then
    return tree:add(proto, tvb(start, size))
  end
  return tree:add(proto, tvb(start, size), value)
end

local function integer(r, member)
  local start, size = r:take(member.int)
  local range = r.tvb(start, size)
  local order = member.little and "le_" or ""
  local sign = member.signed and "int" or "uint"
  if size <= 4 then
    return range[order .. sign](range), start, size
  end
  return range[order .. sign .. "64"](range), start, size
end

local function varint(r, kind)
  local start, code, scale, groups = r.at, UInt64(0), UInt64(1), 0
  repeat
    local group = r.tvb(r:take(1)):uint()
    groups = groups + 1
    if groups == kind.size then
      if group >= 128 then
        r:fail("the integer has more than " .. kind.size .. " bytes")
      end
      group = group % 2 ^ (kind.bits - 7 * (kind.size - 1))  -- other bits are dropped
    end
    code = code + scale * UInt64(group % 128)
    scale = scale * UInt64(128)
  until group < 128
  if kind.zigzag then
    local odd = code:band(UInt64(1)):tonumber()
    local half = Int64.decode(code:rshift(1):encode())
    code = odd == 1 and -half - Int64(1) or half
  end
  return kind.bits <= 32 and code:tonumber() or code, start, r.at - start
end

local read

local inside

local function text_of(layout, s)
  return (layout.shown:gsub("{([%w_.]+)}", function(path)
    local found = s
    for name in path:gmatch("[%w_]+") do
      found = type(found) == "table" and found[name] or nil
    end
    if type(found) == "table" and found.start then
      found = found.size > 0 and found.tvb:raw(found.start, math.min(found.size, 100)) or ""
      return found:find("[^\32-\126]") and "(bytes)" or found
    end
    return type(found) == "number" and string.format("%d", found) or tostring(found)
  end))
end

local function one(r, key, s, member, tree)
  local v, start, size, item
  local inner = member.type and layouts[member.type]
  if member.guard then
    v, start, size = "", r.at, 0
  elseif member.bits then
    local bits = member.bits
    start, size = r.at + bits.at, bits.size
    if bits.at + size > r:left() then
      r:take(bits.at + size)
    end
    v = math.floor(r.tvb(start, size):uint() / 2 ^ bits.shift) % 2 ^ bits.width
    if member.bool then
      v = v == 1
    end
    item = add(tree, member.proto, r.tvb, start, size)
    r.at = r.at + bits.run
  elseif member.int then
    v, start, size = integer(r, member)
    item = add(tree, member.proto, r.tvb, start, size)
  elseif member.float then
    start, size = r:take(member.float)
    local range = r.tvb(start, size)
    v = member.little and range:le_float() or range:float()
    item = add(tree, member.proto, r.tvb, start, size)
  elseif member.bytes then
    start, size = r:take(member.size and member.size(s, r) or r:left())
    v = {tvb = r.tvb, start = start, size = size}
    item = add(tree, member.proto, r.tvb, start, size)
  elseif inner and inner.varint then
    v, start, size = varint(r, inner.varint)
    item = add(tree, member.proto, r.tvb, start, size, v)
  elseif inner and inner.scalar then
    local from = r.at
    local found = read(r, member.type, {}, nil)
    v = found[inner.fields[2].id]
    local bytes = v or {start = r.at, size = 0}
    start, size = from, r.at - from
    if tree ~= nil then
      item = add(tree, member.proto, r.tvb, bytes.start, bytes.size)
      item:append_text(v == nil and " (null)" or "")
    end
  else
    local chosen = member
    if member.on then
      local number_of = number(member.on(s, r))
      chosen = member.cases[number_of] or member.cases.other
      if chosen == nil then
        r:fail(member.id .. ": there is no case " .. number_of)
      end
    end
    local part = r
    start = r.at
    if member.size or member.rest then
      start, size = r:take(member.size and member.size(s, r) or r:left())
      part = reader(r.tvb, start, start + size)
    end
    item = add(tree, member.proto, r.tvb, start, part:left())
    v = read(part, chosen.type, chosen.given and chosen.given(s, r) or {}, item)
    if item ~= nil then
      item:set_len(part.at - start)
      if layouts[chosen.type].shown then
        item:append_text(": " .. text_of(layouts[chosen.type], v))
      end
    end
  end
  if member.valid and not member.valid(s, r, v) then
    r:fail(key .. "." .. member.id .. " is not valid")
  end
  return v
end

-- Reads a structure; its parameters are in it already.
function read(r, key, s, tree)
  local layout = layouts[key]
  if layout.varint then
    s.value = varint(r, layout.varint)
    return s
  end
  for _, peek in ipairs(layout.peeks or {}) do
    local ahead = reader(r.tvb, r.first, r.limit)
    ahead.at = r.first + peek.position
    s[peek.id] = one(ahead, key, s, peek, nil)
  end
  for _, member in ipairs(layout.fields or {}) do
    if member.when == nil or member.when(s, r) then
      if member.count or member.eos then
        local items, start = {}, r.at
        local count = member.count and number(member.count(s, r))
        local list = add(tree, member.list, r.tvb, start, r:left())
        s[member.id] = items
        while (count and #items < count) or (member.eos and r:left() > 0) do
          items[#items + 1] = one(r, key, s, member, list)
        end
        if list ~= nil then
          list:set_len(r.at - start)
          list:append_text(": " .. #items)
        end
      else
        s[member.id] = one(r, key, s, member, tree)
      end
    end
  end
  for _, member in ipairs(layout.values or {}) do
    if member.when == nil or member.when(s, r) then
      s[member.id] = member.value(s, r)
      if tree ~= nil then
        tree:add(member.proto, long(s[member.id])):set_generated()
      end
    end
  end
  if payloads[key] and tree ~= nil then
    inside(r, key, s, tree)
  end
  return s
end

local function member_at(s, path)
  for name in path:gmatch("[^.]+") do
    s = s[name]
  end
  return s
end

local function decompressed(codec, range)
  if codec == "gzip" then
    local done, found = pcall(range.uncompress, range, "decompressed")
    return done and found or nil
  end
  return nil
end

local function show_control(r, list, tree)
  for _, record in ipairs(list) do
    local found = {}
    for _, part in ipairs({control.key, control.value}) do
      local bytes = record[part.field]
      if bytes == nil or bytes.size == 0 then
        return
      end
      local node = tree:add(r.tvb(bytes.start, bytes.size), layouts[part.type].doc)
      found = read(reader(r.tvb, bytes.start, bytes.start + bytes.size), part.type,
        part.given and part.given(found) or {}, node)
    end
  end
end

-- Reads the records of a batch, or the entries in a compressed message.
function inside(r, key, s, tree)
  local payload = payloads[key]
  local bytes = s[payload.field]
  local number_of = member_at(s, payload.compression)
  local codec = payload.codecs[number_of]
  local part
  if bytes == nil or bytes.size == 0 then
    return
  elseif number_of == 0 then
    if not payload.count then
      return  -- a message that stands alone
    end
    part = reader(r.tvb, bytes.start, bytes.start + bytes.size)
  else
    local range = decompressed(codec, r.tvb(bytes.start, bytes.size))
    if range == nil then
      tree:add_proto_expert_info(experts.unread,
        "compressed with " .. (codec or number_of) .. ", which is not decompressed here")
      return
    end
    part = reader(range:tvb(), 0, range:len())
  end
  local node = tree:add(part.tvb(part.first, part:left()), layouts[payload.type].doc)
  local found = read(part, payload.type, payload.given and payload.given(s) or {}, node)
  if payload.control and member_at(s, payload.control) then
    for _, framed in ipairs(found[payload.items]) do
      show_control(part, {member_at(framed, payload.record)}, node)
    end
  end
end

-- Reads one structure after the other, and says what is wrong.
local function show(r, key, given, tree)
  local done, problem = pcall(function()
    repeat
      local node = tree:add(r.tvb(r.at, r:left()), key:match("[^.]+$"))
      local before = r.at
      r.first = before
      local s = {}
      for name, value in pairs(given) do
        s[name] = value
      end
      local fine, failed = pcall(read, r, key, s, node)
      node:set_len(math.max(r.at - before, 0))
      if not fine then
        error(failed, 0)
      elseif layouts[key].shown then
        node:append_text(": " .. text_of(layouts[key], s))
      end
    until r.once or r:left() == 0 or r.at == before
  end)
  if not done then
    if type(problem) ~= "table" then
      error(problem, 0)
    end
    tree:add_proto_expert_info(experts.broken, problem.text .. " (byte " .. problem.at .. ")")
  end
end

-- Files: each entry is a packet. Other types have to be named, since Lua does not see file names.
kafkaspec.fields = protos
kafkaspec.experts = {experts.broken, experts.unread}
kafkaspec.prefs.type = Pref.string("Type of the file", "",
  "A type of the specification, index.time_index; empty for log segments, which are recognized")
kafkaspec.prefs.parameters = Pref.string("Parameters of the type", "",
  "Integers with commas, in order; of an index, the base offset that its file name has")

local places = {}

local function given_to(key)
  local given, numbers = {}, {}
  for text in kafkaspec.prefs.parameters:gmatch("-?%d+") do
    numbers[#numbers + 1] = Int64(text)
  end
  for place, name in ipairs(layouts[key].parameters or {}) do
    given[name] = numbers[place] or Int64(0)
  end
  return given
end

function kafkaspec.dissector(tvb, pinfo, tree)
  local named = kafkaspec.prefs.type
  local key = named == "" and logs[1].entry or named
  pinfo.cols.protocol = "kafkaspec"
  pinfo.cols.info = key
  local top = tree:add(kafkaspec, tvb())
  if places[pinfo.number] ~= nil then
    top:add(position, UInt64(places[pinfo.number])):set_generated()
  end
  if layouts[key] == nil then
    top:add_proto_expert_info(experts.broken, "there is no type " .. key)
    return
  end
  if tvb:reported_len() > tvb:len() then
    top:add_proto_expert_info(experts.unread, "Wireshark takes no more bytes at once")
  end
  show(reader(tvb, 0, tvb:len()), key, given_to(key), top)
end

local MOST = 262144  -- WTAP_MAX_PACKET_SIZE_STANDARD
local NAME, END = 12, 0  -- EXP_PDU_TAG_DISSECTOR_NAME, EXP_PDU_TAG_END_OF_OPT

local function tag(kind, text)
  return string.char(0, kind, 0, #text) .. text
end
local HEAD = tag(NAME, "kafkaspec" .. ("\0"):rep(3)) .. tag(END, "")

local function big_endian(text, start, size)
  local found = 0
  for place = start + 1, start + size do
    found = found * 256 + text:byte(place)
  end
  return found
end

-- Returns the size of the entry that begins with some bytes; nil if none does.
local function entry_size(log, text)
  if #text <= log.head + log.magic then
    return nil
  end
  local length = big_endian(text, log.length.at, log.length.size)
  local magic = text:byte(log.head + log.magic + 1)
  if log.length.valid(nil, nil, length) and length < 2 ^ 31 and log.times[magic] ~= nil then
    return log.head + length, magic
  end
  return nil
end

local function next_packet(file, frame)
  local start = file:seek("cur", 0)
  local log = logs[1]
  local text = file:read(log.most) or ""
  if text == "" then
    return false
  end
  local size, magic = entry_size(log, text)
  local time = 0
  if kafkaspec.prefs.type ~= "" or size == nil then
    file:seek("set", start)
    text = file:read(MOST - #HEAD)  -- the rest, or as much as fits
    size = #text
  else
    local at = log.times[magic]
    if at >= 0 and #text >= at + 8 and text:byte(at + 1) < 128 then
      time = big_endian(text, at, 8)
    end
    file:seek("set", start)
    text = file:read(math.min(size, MOST - #HEAD)) or ""
    file:seek("set", start + math.max(size, #text))
  end
  frame.encap = wtap_encaps.WIRESHARK_UPPER_PDU
  frame.rec_type = wtap_rec_types and wtap_rec_types.PACKET or 0
  frame.flags = wtap_presence_flags.TS + wtap_presence_flags.CAP_LEN
  frame.time = NSTime(math.floor(time / 1000), (time % 1000) * 1000000)
  frame.data = HEAD .. text
  frame.captured_length = #HEAD + #text
  frame.original_length = #HEAD + size
  return start
end

local handler = FileHandler.new("Kafka log segment", "kafkaspec", "Kafka's files", "rms")

function handler.read_open(file, capture)
  places = {}
  if kafkaspec.prefs.type == "" then
    local log = logs[1]
    local size = entry_size(log, file:read(log.most) or "")
    if size == nil then
      return false
    end
    file:seek("set", size)
    local following = file:read(log.most)
    if following and #following == log.most and following:find("[^%z]")
      and entry_size(log, following) == nil then
      return false
    end
    file:seek("set", 0)
  end
  capture.encap = wtap_encaps.WIRESHARK_UPPER_PDU
  capture.time_precision = wtap_tsprecs.MSEC
  return true
end

function handler.read(file, capture, frame)
  local start = next_packet(file, frame)
  if start then
    places[#places + 1] = start
  end
  return start
end

function handler.seek_read(file, capture, frame, offset)
  file:seek("set", offset)
  return next_packet(file, frame) ~= false
end

function handler.read_close(file)
end

function handler.seq_read_close(file)
end

handler.extensions = "log;checkpoint"
register_filehandler(handler)

-- Returns whether the head of an entry is at a position.
local function begins(log, source, start)
  local head = log.head + log.magic + 1
  return start + head <= source:len() and entry_size(log, source:raw(start, head)) ~= nil
end

-- Produce and Fetch: Wireshark's own dissector says where each batch has its magic.
local found, magics = pcall(Field.new, "kafka.message_magic")
if found then
  local finder = Proto("kafkaspec_batches", "Kafka's record batches, by the specification")

  function finder.dissector(_, _, tree)
    local log, seen = logs[1], {}
    for _, each in ipairs({magics()}) do
      local source = each.source
      local start = each.offset - log.head - log.magic
      -- Of messages of magic 0 and 1 it names the first alone: others follow it.
      while start >= 0 and not seen[start] and begins(log, source, start) do
        seen[start] = true
        local top = tree:add(kafkaspec, source(start))
        local r = reader(source, start, source:len())
        r.once = true
        show(r, log.entry, {}, top)
        top:set_len(math.max(r.at - start, 0))
        start = r.at
      end
    end
  end

  register_postdissector(finder)
end
