// trace_context.cc: see weft/observe/trace_context.h.
//
// The block of a context is the word that hooks of switches have for a green thread
// (sched/switch_hooks.h): the hooks publish its record when the green thread begins to run, and
// nothing when it stops. A plain thread publishes its own.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>
#include <stdexcept>

#include <weft/observe/switch_hooks.h>
#include <weft/observe/trace_context.h>

#include "observe/thread_record.h"
#include "sched/switch_hooks.h"

namespace weft::observe {

struct trace_context::block {
    std::atomic<uint32_t> owners{1};
    detail::thread_record record{};

    // Behind it.
    [[nodiscard]] uint8_t* attributes() noexcept { return reinterpret_cast<uint8_t*>(this + 1); }

    [[nodiscard]] const uint8_t* attributes() const noexcept { return reinterpret_cast<const uint8_t*>(this + 1); }
};

// Blocks and contexts, for this file.
struct trace_access {
    using block = trace_context::block;

    // size: of attributes.
    static trace_context make(std::size_t size) {
        static_assert(sizeof(block) == offsetof(block, record) + sizeof(detail::thread_record), "no gap");
        if (sizeof(detail::thread_record) + size > trace_context::record_most) {
            throw std::invalid_argument("weft: the attributes of a trace context have " + std::to_string(size) +
                                        " bytes with their keys and sizes; the maximum is " +
                                        std::to_string(trace_context::record_most - sizeof(detail::thread_record)));
        }
        trace_context made;
        made.block_ = ::new (::operator new(sizeof(block) + size)) block;
        made.block_->record.attributes_size = static_cast<uint16_t>(size);
        return made;
    }

    static void keep(block* b) noexcept {
        b->owners.fetch_add(1, weft::detail::relaxed);
    }  // relaxed: the caller keeps it

    static void drop(block* b) noexcept {
        if (b->owners.fetch_sub(1, weft::detail::acq_rel) != 1) return;  // pairs with the other owners'
        b->~block();
        ::operator delete(b);
    }

    static block* of(const trace_context& c) noexcept { return c.block_; }

    static block* release(trace_context& c) noexcept { return std::exchange(c.block_, nullptr); }

    static trace_context share(block* b) noexcept {
        trace_context made;
        if (b != nullptr) keep(b);
        made.block_ = b;
        return made;
    }
};

namespace {

using block = trace_access::block;

const detail::thread_record* record_of(const void* word) noexcept {
    return word == nullptr ? nullptr : &static_cast<const block*>(word)->record;
}

void publish(void* /*argument*/, const switch_event& event) noexcept { detail::publish_record(record_of(event.word)); }

void publish_none(void* /*argument*/, const switch_event& /*event*/) noexcept { detail::publish_record(nullptr); }

// Never removed: green threads may run until the process ends.
struct hooks {
    switch_hooks* const registered = new switch_hooks(&publish, &publish_none, nullptr);
    const weft::detail::hook_identity identity = weft::detail::identity_of(*registered);
};

std::atomic<bool> hooks_exist{false};

const hooks& all_hooks() {
    static const hooks all;
    hooks_exist.store(true, weft::detail::release);  // pairs with current_trace
    return all;
}

void keep_word(void* word) noexcept {
    if (word != nullptr) trace_access::keep(static_cast<block*>(word));
}

void drop_word(void* word) noexcept {
    if (word == nullptr) return;
    // The green thread ends, on this thread.
    if (detail::published_record() == record_of(word)) detail::publish_record(nullptr);
    trace_access::drop(static_cast<block*>(word));
}

// That of a plain thread.
trace_context& own_of_thread() noexcept {
    struct owner {
        trace_context context;

        owner() = default;
        owner(const owner&) = delete;
        owner& operator=(const owner&) = delete;

        ~owner() { detail::publish_record(nullptr); }
    };

    static thread_local owner own;
    return own.context;
}

// Appends, and returns where the next goes.
uint8_t* put(uint8_t* at, const trace_attribute& a) noexcept {
    *at++ = a.key;
    *at++ = static_cast<uint8_t>(a.value.size());
    return std::copy(a.value.begin(), a.value.end(), at);
}

std::size_t size_of(const trace_attribute& a) {
    if (a.value.size() > 255) {
        throw std::invalid_argument("weft: an attribute of a trace context has " + std::to_string(a.value.size()) +
                                    " bytes; the maximum is 255");
    }
    return 2 + a.value.size();
}

template <typename Use>
void for_each_attribute(const block& b, Use use) {
    const uint8_t* at = b.attributes();
    const uint8_t* end = at + b.record.attributes_size;
    while (at != end) {
        use(trace_attribute{at[0], {reinterpret_cast<const char*>(at + 2), at[1]}});
        at += 2 + at[1];
    }
}

template <std::size_t Size>
bool is_zero(const std::array<uint8_t, Size>& id) noexcept {
    return std::ranges::all_of(id, [](uint8_t b) { return b == 0; });
}

void set_ids(block& b, const trace_id& trace, const span_id& span, uint8_t flags) {
    if (is_zero(trace) || is_zero(span)) {
        throw std::invalid_argument(
            "weft: the trace id or the span id of a trace context is zero, which means none; use an empty context");
    }
    std::ranges::copy(trace, b.record.trace);
    std::ranges::copy(span, b.record.span);
    b.record.flags = flags;
    b.record.valid = 1;
}

// ---- Keys.

struct key_table {
    std::mutex lock;
    std::vector<std::string> names;
};

key_table& keys() {
    static auto* const all = new key_table;  // used until the process ends
    return *all;
}

// ---- Hexadecimal digits.

void append_hex(std::string& text, const uint8_t* bytes, std::size_t size) {
    constexpr char digits[] = "0123456789abcdef";
    for (std::size_t i = 0; i < size; ++i) {
        text += digits[bytes[i] >> 4];
        text += digits[bytes[i] & 15];
    }
}

// -1: none. Upper case is not allowed.
int digit(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

bool parse_hex(std::string_view text, uint8_t* bytes) noexcept {
    for (std::size_t i = 0; i < text.size(); i += 2) {
        const int high = digit(text[i]);
        const int low = digit(text[i + 1]);
        if (high < 0 || low < 0) return false;
        bytes[i / 2] = static_cast<uint8_t>(high * 16 + low);
    }
    return true;
}

}  // namespace

uint8_t trace_key(std::string_view name) {
    key_table& all = keys();
    const std::lock_guard held(all.lock);
    const auto found = std::ranges::find(all.names, name);
    const auto index = static_cast<std::size_t>(found - all.names.begin());
    if (found == all.names.end()) {
        if (index == 256) {
            throw std::length_error("weft: \"" + std::string(name) +
                                    "\" would be the 257th key of trace contexts; the maximum is 256");
        }
        all.names.emplace_back(name);
    }
    return static_cast<uint8_t>(index);
}

std::vector<std::string> trace_keys() {
    key_table& all = keys();
    const std::lock_guard held(all.lock);
    return all.names;
}

trace_context::trace_context(const trace_id& trace,
                             const span_id& span,
                             uint8_t flags,
                             std::initializer_list<trace_attribute> attributes) {
    std::size_t size = 0;
    for (const trace_attribute& a : attributes) size += size_of(a);
    trace_context made = trace_access::make(size);
    set_ids(*made.block_, trace, span, flags);
    uint8_t* at = made.block_->attributes();
    for (const trace_attribute& a : attributes) at = put(at, a);
    *this = std::move(made);
}

trace_context trace_context::parse(std::string_view traceparent) {
    trace_id trace{};
    span_id span{};
    uint8_t flags = 0;
    const bool good = traceparent.size() == 55 && traceparent.starts_with("00-") && traceparent[35] == '-' &&
                      traceparent[52] == '-' && parse_hex(traceparent.substr(3, 32), trace.data()) &&
                      parse_hex(traceparent.substr(36, 16), span.data()) && parse_hex(traceparent.substr(53), &flags);
    if (!good) {
        throw std::invalid_argument("weft: \"" + std::string(traceparent.substr(0, 80)) +
                                    "\" is no traceparent of version 00");
    }
    return {trace, span, flags};
}

trace_context::trace_context(const trace_context& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) trace_access::keep(block_);
}

trace_context::trace_context(trace_context&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}

trace_context& trace_context::operator=(trace_context other) noexcept {
    std::swap(block_, other.block_);
    return *this;
}

trace_context::~trace_context() {
    if (block_ != nullptr) trace_access::drop(block_);
}

trace_id trace_context::trace() const noexcept {
    trace_id id{};
    if (block_ != nullptr) std::ranges::copy(block_->record.trace, id.begin());
    return id;
}

span_id trace_context::span() const noexcept {
    span_id id{};
    if (block_ != nullptr) std::ranges::copy(block_->record.span, id.begin());
    return id;
}

uint8_t trace_context::flags() const noexcept { return block_ == nullptr ? uint8_t{0} : block_->record.flags; }

std::string_view trace_context::attribute(uint8_t key) const noexcept {
    std::string_view found;
    if (block_ == nullptr) return found;
    for_each_attribute(*block_, [&](const trace_attribute& a) {
        if (a.key == key) found = a.value;  // the last one counts
    });
    return found;
}

trace_context trace_context::with_span(const span_id& span) const {
    if (block_ == nullptr) throw std::invalid_argument("weft: an empty trace context has no trace for a span");
    trace_context made = trace_access::make(block_->record.attributes_size);
    set_ids(*made.block_, trace(), span, flags());
    std::memcpy(made.block_->attributes(), block_->attributes(), block_->record.attributes_size);
    return made;
}

trace_context trace_context::with(uint8_t key, std::string_view value) const {
    if (block_ == nullptr) throw std::invalid_argument("weft: an empty trace context has no trace for an attribute");
    std::size_t size = size_of({key, value});
    for_each_attribute(*block_, [&](const trace_attribute& a) {
        if (a.key != key) size += size_of(a);
    });
    trace_context made = trace_access::make(size);
    set_ids(*made.block_, trace(), span(), flags());
    uint8_t* at = made.block_->attributes();
    for_each_attribute(*block_, [&](const trace_attribute& a) {
        if (a.key != key) at = put(at, a);
    });
    put(at, {key, value});
    return made;
}

std::string trace_context::traceparent() const {
    if (block_ == nullptr) return {};
    std::string text = "00-";
    append_hex(text, block_->record.trace, sizeof(block_->record.trace));
    text += '-';
    append_hex(text, block_->record.span, sizeof(block_->record.span));
    text += '-';
    append_hex(text, &block_->record.flags, 1);
    return text;
}

trace_context current_trace() noexcept {
    if (!weft::detail::is_in_green_thread()) return own_of_thread();
    if (!hooks_exist.load(weft::detail::acquire)) return {};  // pairs with all_hooks
    const auto& [place, serial] = all_hooks().identity;
    return trace_access::share(static_cast<block*>(weft::detail::hook_word(place, serial)));
}

void set_current_trace(trace_context context) {
    const detail::thread_record* record = record_of(trace_access::of(context));
    if (!weft::detail::is_in_green_thread()) {
        trace_context& own = own_of_thread();
        detail::publish_record(record);
        own = std::move(context);
        return;
    }
    const auto& [place, serial] = all_hooks().identity;
    weft::detail::hook_words::entry word;
    word.serial = serial;
    word.value = trace_access::of(context);
    word.inherited = true;
    word.keep = &keep_word;
    word.drop = &drop_word;
    weft::detail::reserve_hook_words();  // the only part that can throw
    static_cast<void>(trace_access::release(context));
    static_cast<void>(weft::detail::set_hook_word(place, word));
    detail::publish_record(record);
}

}  // namespace weft::observe
