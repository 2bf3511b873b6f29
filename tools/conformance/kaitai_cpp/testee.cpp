// The specification, compiled to C++, as a testee: one source with all that the compiler made.
//
// The builder writes spec.inc, which includes that, and types.inc: TYPE for each type, by its key.
#include <sys/resource.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <typeindex>

#include "spec.inc"

// The compiler's C++ frees the pointer of a switch that it never set, where reading what it chose
// fails. In memory of zeros that is harmless.
void* operator new(size_t size) {
    if (void* made = std::calloc(1, size))
        return made;
    throw std::bad_alloc();
}

void operator delete(void* made) noexcept { std::free(made); }

void operator delete(void* made, size_t) noexcept { std::free(made); }

using Json = nlohmann::json;
using Text = std::string;

static const Text DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static Text encoded(const Text& data) {
    Text found;
    for (size_t start = 0; start < data.size(); start += 3) {
        uint32_t group = 0;
        for (size_t place = start; place < start + 3; place++)
            group = group << 8 | (place < data.size() ? uint8_t(data[place]) : 0);
        for (size_t digit = 0; digit < 4; digit++)
            found += start + digit > data.size() ? '=' : DIGITS[group >> (18 - 6 * digit) & 63];
    }
    return found;
}

static Text decoded(const Text& text) {
    Text found;
    for (size_t start = 0; start < text.size(); start += 4) {
        uint32_t group = 0;
        for (size_t place = start; place < start + 4; place++)
            group = group << 6 | (text[place] == '=' ? 0 : DIGITS.find(text[place]));
        for (size_t byte = 0; byte < 3 && text[start + byte + 1] != '='; byte++)
            found += char(group >> (16 - 8 * byte));
    }
    return found;
}

// What a request made lives until its answer is written.
static std::vector<std::shared_ptr<void>> kept;

template <class T>
static T* keep(T* made) {
    kept.push_back(std::shared_ptr<T>(made));
    return made;
}

static kaitai::kstream* stream(const Text& data) { return keep(new kaitai::kstream(data)); }

// -- values as an answer has them -----------------------------------------------------------------

using Writer = std::function<void(Text&, kaitai::kstruct*)>;
static std::map<std::type_index, Writer> writers;

static void put(Text& out, const Text& data) { out += '"' + encoded(data) + '"'; }

static void put(Text& out, kaitai::kstruct* value) {
    if (value == nullptr)
        out += "null";
    else
        writers.at(typeid(*value))(out, value);
}

template <class T>
static void put(Text& out, T value)
    requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
{
    if constexpr (std::is_same_v<T, bool>) {
        out += value ? "true" : "false";
    } else if constexpr (std::is_floating_point_v<T>) {
        std::ostringstream text;
        text.precision(17);
        text << value;
        // What JSON has not, as Python writes it.
        out += std::isnan(value) ? "NaN" : !std::isinf(value) ? text.str()
            : value < 0 ? "-Infinity" : "Infinity";
    } else if constexpr (std::is_same_v<T, uint64_t>) {
        out += std::to_string(value);
    } else if constexpr (std::is_enum_v<T>) {
        out += std::to_string(int32_t(value));
    } else {
        out += std::to_string(int64_t(value));
    }
}

template <class T>
static void put(Text& out, std::vector<T>* items) {
    out += '[';
    for (size_t index = 0; index < items->size(); index++) {
        out += index ? "," : "";
        put(out, (*items)[index]);
    }
    out += ']';
}

// -- types ----------------------------------------------------------------------------------------

struct Parameter {
    int64_t number;
    kaitai::kstruct* structure;
    operator int64_t() const { return number; }
    template <class T>
    operator T*() const { return dynamic_cast<T*>(structure); }
};

using Parameters = std::vector<Parameter>;
using Maker = std::function<kaitai::kstruct*(const Parameters&, kaitai::kstream*)>;
static std::map<Text, Maker> makers;

template <class T, class F>
static void type(const Text& key, Maker maker, F write) {
    makers[key] = maker;
    writers[typeid(T)] = [write](Text& out, kaitai::kstruct* value) {
        write(out, static_cast<T*>(value));
    };
}

#define VALUE(name) \
    if constexpr (requires { v->_is_null_##name(); }) { \
        if (v->_is_null_##name()) out += "null"; else put(out, v->name()); \
    } else put(out, v->name());
#define FIELD(name) \
    out += out.back() == '{' ? "\"" #name "\":" : ",\"" #name "\":"; \
    VALUE(name)

static void types() {
#include "types.inc"
}

static kaitai::kstruct* parse(const Text& key, const Text& data, const Parameters& given = {}) {
    return keep(makers.at(key)(given, stream(data)));
}

static kaitai::kstruct* parse(const Json& request) {
    Parameters given;
    for (const Json& item : request["parameters"]) {
        if (item.is_object())
            given.push_back({0, parse(item)});
        else
            given.push_back({item.get<int64_t>(), nullptr});
    }
    return parse(request["type"], decoded(request["data"]), given);
}

// -- logs -----------------------------------------------------------------------------------------

using Batch = recordbatch_t::record_batch_t;
using Message = recordbatch_t::legacy_message_t;
using Records = std::vector<recordbatch_t::framed_record_t*>;
using OnBatch = std::function<void(Batch*, Records*)>;
using OnMessage = std::function<void(Message*, int64_t offset, Message* timed)>;

static std::vector<recordbatch_t::entry_t*>& entries(const Text& data) {
    return *static_cast<recordbatch_t*>(parse("recordbatch.recordbatch", data))->entries();
}

static void unwrap(Message* wrapper, const Text& payload, const OnMessage& on_message) {
    auto& inner = entries(payload);
    int64_t last = inner.back()->base_offset();
    bool relative = wrapper->magic() == 1 && wrapper->offset() != 0;
    bool appended = wrapper->magic() == 1 && wrapper->attributes()->timestamp_type()
        == recordbatch_t::TIMESTAMP_TYPE_LOG_APPEND_TIME;
    for (auto entry : inner) {
        auto message = static_cast<Message*>(entry->message()->content());
        int64_t offset = entry->base_offset() + (relative ? wrapper->offset() - last : 0);
        on_message(message, offset, appended && message->magic() == 1 ? wrapper : message);
    }
}

static void walk(const Json& request, const OnBatch& on_batch, const OnMessage& on_message) {
    Json given = request.value("decompressed", Json::array());
    auto& found = entries(decoded(request["data"]));
    for (size_t index = 0; index < found.size(); index++) {
        bool has = index < given.size() && !given[index].is_null();
        Text payload = has ? decoded(given[index]) : "";
        auto content = found[index]->message()->content();
        if (auto batch = dynamic_cast<Batch*>(content)) {
            auto set = parse("recordbatch.record_set", has ? payload : batch->records(),
                {{0, batch}});
            on_batch(batch, static_cast<recordbatch_t::record_set_t*>(set)->records());
            continue;
        }
        auto message = static_cast<Message*>(content);
        if (message->attributes()->compression() == recordbatch_t::COMPRESSION_TYPE_NONE)
            on_message(message, message->offset(), message);
        else
            unwrap(message, payload, on_message);
    }
}

static Text records(const Json& request) {
    Text out = "[";
    auto start = [&](int64_t offset) {
        out += out.size() > 1 ? ",{\"offset\":" : "{\"offset\":";
        put(out, offset);
        out += ",\"timestamp\":";
    };
    auto contents = [&](auto* v) {
        out += ',';
        out += "\"key\":";
        put(out, v->key());
        out += ",\"value\":";
        put(out, v->value());
        out += ",\"headers\":[";
    };
    walk(request, [&](Batch* batch, Records* all) {
        for (auto framed : batch->attributes()->is_control() ? Records() : *all) {
            auto record = framed->body();
            start(record->offset());
            put(out, record->timestamp());
            contents(record);
            for (auto header : *record->headers()) {
                out += out.back() == '[' ? "[" : ",[";
                put(out, header->key());
                out += ',';
                put(out, header->value());
                out += ']';
            }
            out += "]}";
        }
    }, [&](Message* message, int64_t offset, Message* timed) {
        start(offset);
        if (timed->_is_null_timestamp())
            out += "null";
        else
            put(out, timed->timestamp());
        contents(message);
        out += "]}";
    });
    return out + "]";
}

static Text control_records(const Json& request) {
    Json found = Json::array();
    walk(request, [&](Batch* batch, Records* all) {
        for (auto framed : batch->attributes()->is_control() ? *all : Records()) {
            auto record = framed->body();
            int type = static_cast<control_record_t::control_record_key_t*>(
                parse("control_record.control_record_key", record->key()->value()))->type();
            auto value = static_cast<control_record_t::control_record_value_t*>(parse(
                "control_record.control_record_value", record->value()->value(),
                {{type, nullptr}}));
            Json item = {{"offset", record->offset()}, {"type", type}};
            using Marker = control_record_t::end_transaction_marker_t;
            if (auto marker = dynamic_cast<Marker*>(value->body()))
                item["coordinator_epoch"] = marker->coordinator_epoch();
            found.push_back(item);
        }
    }, [](Message*, int64_t, Message*) {});
    return found.dump();
}

// -- requests -------------------------------------------------------------------------------------

template <class T>
static Text file_of(const Json& request, const Text& key) {
    Text out = "\"entries\":";
    int64_t base = request.value("base_offset", int64_t(0));
    auto file = parse(key, decoded(request["data"]), {{base, nullptr}});
    put(out, static_cast<T*>(file)->entries());
    return out;
}

static Text answer(const Json& request) {
    Text kind = request["kind"];
    if (kind == "hello")
        return "\"protocol\":1,\"name\":\"Kaitai Struct C++\",\"version\":\"" VERSION "\","
            "\"kinds\":[\"log\",\"control_records\",\"offset_index\",\"time_index\","
            "\"transaction_index\",\"producer_snapshot\",\"type\"]";
    if (kind == "log")
        return "\"records\":" + records(request);
    if (kind == "control_records")
        return "\"control_records\":" + control_records(request);
    if (kind == "offset_index")
        return file_of<index_t::offset_index_t>(request, "index.offset_index");
    if (kind == "time_index")
        return file_of<index_t::time_index_t>(request, "index.time_index");
    if (kind == "transaction_index")
        return file_of<transaction_index_t>(request, "transaction_index.transaction_index");
    if (kind == "producer_snapshot")
        return file_of<producer_snapshot_t>(request, "producer_snapshot.producer_snapshot");
    auto value = parse(request);
    Text out = "\"value\":";
    put(out, value);
    return out + ",\"end\":" + std::to_string(value->_io()->pos());
}

int main() {
    // The runtime allocates what a size says before it looks what is left.
    rlimit limit = {1 << 30, 1 << 30};
    setrlimit(RLIMIT_AS, &limit);
    types();
    for (Text line; std::getline(std::cin, line);) {
        Json request = Json::parse(line);
        Text found;
        try {
            found = answer(request);
        } catch (const std::exception& error) {
            found = "\"error\":" + Json(error.what()).dump();
        }
        std::cout << "{\"id\":" << request["id"].dump() << ',' << found << "}\n" << std::flush;
        kept.clear();
    }
}
