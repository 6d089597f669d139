// recording_file.cc: see recording_file.h.
#include "observe/recording_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace weft::observe::detail {

namespace {

using weft::detail::event_kind;
using weft::detail::has_text;

constexpr std::string_view magic = "weftrec1";
constexpr std::size_t event_kinds = static_cast<std::size_t>(event_kind::count);
constexpr std::size_t steps_of_block = 4096;

namespace block {
constexpr uint8_t program = 1;
constexpr uint8_t text = 2;
constexpr uint8_t literal = 3;
constexpr uint8_t place = 4;
constexpr uint8_t g = 5;
constexpr uint8_t thread = 6;
constexpr uint8_t events = 7;
constexpr uint8_t span = 8;
}  // namespace block

constexpr uint8_t kind_bits = 0x1f;
constexpr uint8_t same_id = 0x20;
constexpr uint8_t same_argument = 0x40;
constexpr uint8_t has_detail = 0x80;
static_assert(event_kinds <= kind_bits);

bool has_literal(event_kind kind) noexcept { return kind == event_kind::region || kind == event_kind::counter; }

// ---- Writing.

void put(std::string& to, uint64_t value) {
    while (value >= 0x80) {
        to += static_cast<char>(value | 0x80);
        value >>= 7;
    }
    to += static_cast<char>(value);
}

void put_signed(std::string& to, int64_t value) {
    put(to, static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
}

void put_string(std::string& to, std::string_view text) {
    put(to, text.size());
    to += text;
}

// What an event is relative to.
struct last_event {
    int64_t ns = 0;
    uint64_t id = 0;
    uint64_t arguments[event_kinds] = {};
};

void put_event(std::string& to, last_event& last, const step& s, uint64_t argument) {
    const auto kind = static_cast<uint8_t>(s.kind);
    uint64_t& last_argument = last.arguments[kind];
    uint8_t head = kind;
    if (s.id == last.id) head |= same_id;
    if (argument == last_argument) head |= same_argument;
    if (s.detail != 0) head |= has_detail;
    to += static_cast<char>(head);
    put_signed(to, s.ns - last.ns);
    if (s.id != last.id) put_signed(to, static_cast<int64_t>(s.id - last.id));
    if (argument != last_argument) put_signed(to, static_cast<int64_t>(argument - last_argument));
    if (s.detail != 0) to += static_cast<char>(s.detail);
    last.ns = s.ns;
    last.id = s.id;
    last_argument = argument;
}

}  // namespace

file_writer::file_writer(const std::string& path, output::mode how) : to_(path, how), pending_(magic) {}

void file_writer::add_block(uint8_t kind, std::string_view bytes) {
    pending_ += static_cast<char>(kind);
    put_string(pending_, bytes);
    if (pending_.size() >= output::piece) flush();
}

void file_writer::flush() {
    to_.append(pending_);
    size_ += pending_.size();
    pending_.clear();
}

void file_writer::close() {
    flush();
    to_.close();
}

void file_writer::add_program(const recorded& r) {
    std::string bytes;
    put(bytes, static_cast<uint64_t>(r.pid));
    put_signed(bytes, r.realtime_minus_monotonic_ns);
    put_string(bytes, r.program);
    put(bytes, r.is_filtered ? 1 : 0);
    put(bytes, r.unrecorded);
    add_block(block::program, bytes);
}

void file_writer::add_thread(uint32_t number, const recorded_ring& thread) {
    std::string bytes;
    put(bytes, number);
    put(bytes, thread.m);
    put(bytes, static_cast<uint64_t>(thread.tid));
    put(bytes, thread.is_outside ? 1 : 0);
    put(bytes, thread.lost);
    add_block(block::thread, bytes);
}

void file_writer::add_g(const recorded& names, const known_g& g) {
    std::string bytes;
    put(bytes, g.id);
    put(bytes, place_number(names, g.site));
    put(bytes, g.name == 0 ? 0 : text(names.texts[g.name]));
    put(bytes, g.labels == 0 ? 0 : repeated(names.texts[g.labels]));
    add_block(block::g, bytes);
}

void file_writer::add_span(int64_t began_ns, int64_t ended_ns) {
    std::string bytes;
    put_signed(bytes, began_ns);
    put_signed(bytes, ended_ns);
    add_block(block::span, bytes);
}

uint64_t file_writer::text(const std::string& text) {
    std::string bytes;
    put(bytes, ++texts_);
    put_string(bytes, text);
    add_block(block::text, bytes);
    return texts_;
}

uint64_t file_writer::repeated(const std::string& all) {
    constexpr std::size_t most = 10'000;
    if (repeated_.size() >= most) repeated_.clear();
    uint64_t& number = repeated_[all];
    if (number == 0) number = text(all);
    return number;
}

uint64_t file_writer::literal(const recorded& names, uint64_t key) {
    const auto [found, is_new] = literals_.try_emplace(key, literals_.size() + 1);
    if (is_new) {
        std::string bytes;
        put(bytes, found->second);
        const auto known = names.literals.find(key);
        put_string(bytes, known == names.literals.end() ? "?" : known->second);
        add_block(block::literal, bytes);
    }
    return found->second;
}

uint64_t file_writer::place_number(const recorded& names, uint64_t key) {
    const auto known = names.places.find(key);
    if (known == names.places.end() || known->second.file.empty()) return 0;
    const auto [found, is_new] = places_.try_emplace(key, places_.size() + 1);
    if (is_new) {
        std::string bytes;
        put(bytes, found->second);
        put(bytes, known->second.line);
        put_string(bytes, known->second.file);
        put_string(bytes, known->second.function);
        add_block(block::place, bytes);
    }
    return found->second;
}

uint64_t file_writer::argument_of(const recorded& names, const step& s) {
    if (s.kind == event_kind::labels || s.kind == event_kind::stack)
        return s.text == 0 ? 0 : repeated(names.texts[s.text]);
    if (has_text(s.kind)) return s.text == 0 ? 0 : text(names.texts[s.text]);
    if (has_literal(s.kind)) return literal(names, s.argument);
    if (s.kind == event_kind::spawn) return place_number(names, s.argument);
    return s.argument;
}

void file_writer::add_steps(const recorded& names, uint32_t thread, const step* first, std::size_t count) {
    for (std::size_t at = 0; at < count; at += steps_of_block) {
        std::string bytes;
        put(bytes, thread);
        last_event last;
        for (std::size_t i = at; i < (std::min)(count, at + steps_of_block); ++i) {
            put_event(bytes, last, first[i], argument_of(names, first[i]));
        }
        add_block(block::events, bytes);
    }
}

void write_file(const recorded& r, const std::string& path, output::mode how) {
    file_writer to(path, how);
    to.add_program(r);
    to.add_span(r.began_ns, r.ended_ns);
    for (std::size_t i = 0; i < r.threads.size(); ++i) to.add_thread(static_cast<uint32_t>(i), r.threads[i]);
    for (const known_g& g : r.gs) to.add_g(r, g);
    std::vector<std::vector<step>> parts(r.threads.size());
    for (const step& s : r.steps) {
        std::vector<step>& part = parts[s.thread];
        part.push_back(s);
        if (part.size() < steps_of_block) continue;
        to.add_steps(r, s.thread, part.data(), part.size());
        part.clear();
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        to.add_steps(r, static_cast<uint32_t>(i), parts[i].data(), parts[i].size());
    }
    to.close();
}

std::vector<step> merge(const std::vector<std::vector<step>>& parts) {
    struct cursor {
        const step* at;
        const step* end;
    };

    const auto is_later = [](const cursor& a, const cursor& b) { return a.at->ns > b.at->ns; };
    std::vector<cursor> heap;
    std::size_t count = 0;
    for (const std::vector<step>& part : parts) {
        if (!part.empty()) heap.push_back({part.data(), part.data() + part.size()});
        count += part.size();
    }
    std::make_heap(heap.begin(), heap.end(), is_later);
    std::vector<step> all;
    all.reserve(count);
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), is_later);
        cursor& first = heap.back();
        // Up to the first step of the next thread.
        do {
            all.push_back(*first.at++);
        } while (first.at != first.end && (heap.size() == 1 || first.at->ns <= heap.front().at->ns));
        if (first.at == first.end) {
            heap.pop_back();
        } else {
            std::push_heap(heap.begin(), heap.end(), is_later);
        }
    }
    return all;
}

// ---- Reading.

namespace {

// The bytes of a file, or of a block.
class input {
public:
    input(std::string_view bytes, const std::string& what) noexcept : bytes_(bytes), what_(what) {}

    [[nodiscard]] bool at_end() const noexcept { return bytes_.empty(); }

    uint8_t byte() {
        if (bytes_.empty()) fail("a block ends within a number");
        const auto value = static_cast<uint8_t>(bytes_.front());
        bytes_.remove_prefix(1);
        return value;
    }

    uint64_t number() {
        uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const uint8_t next = byte();
            value |= uint64_t{static_cast<uint8_t>(next & 0x7f)} << shift;
            if ((next & 0x80) == 0) return value;
        }
        fail("a number has more than 64 bits");
    }

    int64_t signed_number() {
        const uint64_t coded = number();
        return static_cast<int64_t>(coded >> 1 ^ (0 - (coded & 1)));
    }

    uint32_t small(const char* of) {
        const uint64_t value = number();
        if (value > (std::numeric_limits<uint32_t>::max)()) fail(of);
        return static_cast<uint32_t>(value);
    }

    std::string_view string() {
        const uint64_t size = number();
        if (size > bytes_.size()) fail("a string is longer than its block");
        const std::string_view text = bytes_.substr(0, size);
        bytes_.remove_prefix(size);
        return text;
    }

    // A block, if it is whole.
    bool next_block(uint8_t& kind, std::string_view& bytes) noexcept {
        std::string_view rest = bytes_;
        if (rest.empty()) return false;
        kind = static_cast<uint8_t>(rest.front());
        rest.remove_prefix(1);
        uint64_t size = 0;
        for (unsigned shift = 0;; shift += 7) {
            if (rest.empty() || shift >= 64) return false;
            const auto next = static_cast<uint8_t>(rest.front());
            rest.remove_prefix(1);
            size |= uint64_t{static_cast<uint8_t>(next & 0x7f)} << shift;
            if ((next & 0x80) == 0) break;
        }
        if (size > rest.size()) return false;
        bytes = rest.substr(0, size);
        bytes_ = rest.substr(size);
        return true;
    }

    [[noreturn]] void fail(const char* why) const {
        throw std::runtime_error("weft: " + what_ + " is not a whole recording: " + why);
    }

private:
    std::string_view bytes_;
    const std::string& what_;
};

class reader {
public:
    reader(std::string_view bytes, const std::string& what) : what_(what), in_(bytes, what) {}

    recorded read() {
        uint8_t kind = 0;
        std::string_view bytes;
        while (in_.next_block(kind, bytes)) {
            input from(bytes, what_);
            take(kind, from);
        }
        r_.steps = merge(parts_);
        if (!has_span_ && !r_.steps.empty()) r_.began_ns = r_.ended_ns = r_.steps.front().ns;
        if (!r_.steps.empty()) {
            r_.began_ns = (std::min)(r_.began_ns, r_.steps.front().ns);
            r_.ended_ns = (std::max)(r_.ended_ns, r_.steps.back().ns);
        }
        return std::move(r_);
    }

private:
    void take(uint8_t kind, input& from) {
        switch (kind) {
            case block::program:
                r_.pid = static_cast<int>(from.small("its process number is too large"));
                r_.realtime_minus_monotonic_ns = from.signed_number();
                check_time(from, r_.realtime_minus_monotonic_ns / 4);
                r_.program = from.string();
                r_.is_filtered = from.number() != 0;
                r_.unrecorded = from.number();
                return;
            case block::text:
                if (from.number() != r_.texts.size()) from.fail("texts are not in order");
                r_.texts.emplace_back(from.string());
                return;
            case block::literal: {
                const uint64_t number = from.number();
                r_.literals[number] = from.string();
                return;
            }
            case block::place: {
                place& p = r_.places[from.number()];
                p.line = from.small("a line number is too large");
                p.file = from.string();
                p.function = from.string();
                return;
            }
            case block::g: {
                known_g g{};
                g.id = from.number();
                g.site = from.number();
                g.name = text_number(from, from.number());
                g.labels = text_number(from, from.number());
                r_.gs.push_back(g);
                return;
            }
            case block::thread:
                return take_thread(from);
            case block::events:
                return take_events(from);
            case block::span:
                has_span_ = true;
                r_.began_ns = from.signed_number();
                r_.ended_ns = from.signed_number();
                check_time(from, r_.began_ns);
                check_time(from, r_.ended_ns);
                return;
            default:
                return;  // of a later version
        }
    }

    uint32_t text_number(const input& from, uint64_t number) const {
        if (number >= r_.texts.size()) from.fail("a text is missing");
        return static_cast<uint32_t>(number);
    }

    // Again for one that is known: with what is known by now.
    void take_thread(input& from) {
        const uint64_t number = from.number();
        if (number > r_.threads.size()) from.fail("threads are not in order");
        if (number == r_.threads.size()) {
            r_.threads.emplace_back();
            parts_.emplace_back();
        }
        recorded_ring& t = r_.threads[number];
        t.m = from.small("the number of an M is too large");
        t.tid = static_cast<int>(from.small("the number of a thread is too large"));
        t.is_outside = from.number() != 0;
        t.lost = from.number();
    }

    void take_events(input& from) {
        const uint64_t thread = from.number();
        if (thread >= r_.threads.size()) from.fail("a thread is missing");
        std::vector<step>& part = parts_[thread];
        last_event last;
        while (!from.at_end()) {
            const uint8_t head = from.byte();
            const auto kind = static_cast<uint8_t>(head & kind_bits);
            if (kind >= event_kinds) from.fail("an event has an unknown kind");
            step s{};
            s.kind = static_cast<event_kind>(kind);
            s.thread = static_cast<uint32_t>(thread);
            s.ns = static_cast<int64_t>(static_cast<uint64_t>(last.ns) + static_cast<uint64_t>(from.signed_number()));
            s.id = (head & same_id) != 0 ? last.id : last.id + static_cast<uint64_t>(from.signed_number());
            uint64_t& argument = last.arguments[kind];
            if ((head & same_argument) == 0) argument += static_cast<uint64_t>(from.signed_number());
            if ((head & has_detail) != 0) s.detail = from.byte();
            if (has_text(s.kind)) {
                s.text = text_number(from, argument);
            } else {
                s.argument = argument;
            }
            last.ns = s.ns;
            last.id = s.id;
            check_time(from, s.ns);
            // Pieces of a stream have their times from different readings of the clock.
            if (!part.empty()) s.ns = (std::max)(s.ns, part.back().ns);
            part.push_back(s);
        }
    }

    // So that times can be subtracted.
    static void check_time(const input& from, int64_t ns) {
        constexpr int64_t most = int64_t{1} << 60;  // 36 years; with four times as much since 1970, sums fit
        if (ns > most || ns < -most) from.fail("a time is out of range");
    }

    const std::string& what_;
    input in_;
    recorded r_;
    std::vector<std::vector<step>> parts_;
    bool has_span_ = false;
};

}  // namespace

recorded read_bytes(std::string_view bytes, const std::string& what) {
    if (bytes.substr(0, magic.size()) != magic) {
        throw std::runtime_error("weft: " + what + " is not a recording; it does not begin with " + std::string(magic));
    }
    return reader(bytes.substr(magic.size()), what).read();
}

recorded read_file(const std::string& path) {
    const auto fail = [&] {
        throw std::system_error(errno, std::generic_category(), "weft: cannot read the recording " + path);
    };
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) fail();
    std::string bytes;
    std::size_t size = 0;
    for (;;) {
        if (size == bytes.size()) bytes.resize((std::max)(2 * bytes.size(), output::piece));
        const ssize_t got = ::read(fd, bytes.data() + size, bytes.size() - size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            const int error = errno;
            ::close(fd);
            errno = error;
            fail();
        }
        if (got == 0) break;
        size += static_cast<std::size_t>(got);
    }
    ::close(fd);
    return read_bytes(std::string_view(bytes).substr(0, size), path);
}

}  // namespace weft::observe::detail
