// trace_file.cc: see trace_file.h.
#include "sim/trace_file.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <ios>
#include <set>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "events/perfetto_fields.h"

namespace weft::sim {

namespace {

namespace annotation = weft::detail::perfetto::debug_annotation;
namespace descriptor = weft::detail::perfetto::descriptor;
namespace event = weft::detail::perfetto::track_event;
namespace packet = weft::detail::perfetto::packet;
namespace process = weft::detail::perfetto::process;

using weft::detail::perfetto::trace_packet;

constexpr uint64_t sequence = 1;

constexpr uint64_t process_track = 1;
constexpr uint64_t running_track = 2;
constexpr uint64_t notes_track = 3;
constexpr uint64_t first_g = 16;

constexpr int64_t step_ns = 1'000;

// A message of protobuf: numbers as varints, everything else with its size in front.
class message {
public:
    void add(uint32_t field, uint64_t value) {
        put(uint64_t{field} << 3);
        put(value);
    }

    void add(uint32_t field, std::string_view text) {
        put(uint64_t{field} << 3 | 2);
        put(text.size());
        bytes_ += text;
    }

    void add(uint32_t field, const message& inner) { add(field, std::string_view(inner.bytes_)); }

    [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

private:
    void put(uint64_t value) {
        for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value | 128);
        bytes_ += static_cast<char>(value);
    }

    std::string bytes_;
};

class trace_maker {
public:
    trace_maker(const outcome& o, object_numbers& objects, place_finder& places)
        : o_(o), objects_(objects), places_(places) {}

    std::string make() {
        describe();
        for (std::size_t i = 0; i < o_.records.size(); ++i) {
            const step_record& r = o_.records[i];
            ns_ = r.at_ns - begin_ns + static_cast<int64_t>(i) * step_ns;
            if (!r.note.empty()) {
                tell(event::instant, notes_track, r.note, nullptr);
            } else {
                step(r);
            }
        }
        end_running();
        tell(event::instant, notes_track, o_.reason.empty() ? "the end" : o_.reason, nullptr);
        return trace_.bytes();
    }

private:
    void describe() {
        message about;
        about.add(process::pid, uint64_t{1});
        about.add(process::name, std::string_view("simulation"));
        message whole;
        whole.add(descriptor::uuid, process_track);
        whole.add(descriptor::process, about);
        whole.add(descriptor::child_ordering, descriptor::ordered_by_rank);
        message first;
        first.add(packet::sequence_id, sequence);
        first.add(packet::sequence_flags, packet::state_cleared);
        first.add(packet::track_descriptor, whole);
        trace_.add(trace_packet, first);
        describe(running_track, "runs");
        describe(notes_track, "beside steps");
        for (const uint32_t g : green_threads()) {
            const g_record& record = o_.green_threads[g];
            describe(first_g + g, name_of_g(g, record) + (record.started.empty() ? "" : " (" + record.started + ")"));
        }
    }

    [[nodiscard]] std::set<uint32_t> green_threads() const {
        std::set<uint32_t> all;
        for (const step_record& r : o_.records)
            if (r.g != 0) all.insert(r.g);
        return all;
    }

    void describe(uint64_t track, const std::string& name) {
        message d;
        d.add(descriptor::uuid, track);
        d.add(descriptor::parent, process_track);
        d.add(descriptor::name, name);
        d.add(descriptor::rank, track);
        message p;
        p.add(packet::sequence_id, sequence);
        p.add(packet::track_descriptor, d);
        trace_.add(trace_packet, p);
    }

    void step(const step_record& r) {
        if (r.g != running_ || r.at_ns != last_at_ns_) {  // nothing runs while the clock moves
            end_running();
            if (r.g != 0) tell(event::begin, running_track, name_of_g(r.g, o_.green_threads[r.g]), nullptr);
            running_ = r.g;
        }
        last_at_ns_ = r.at_ns;
        if (r.g == 0) {
            tell(event::instant, running_track, "the clock moves to the next timer", &r);
            return;
        }
        const uint64_t track = first_g + r.g;
        tell(event::begin, track, text_of_operation({r.g, r.what, r.object}, objects_), &r);
        ns_ += step_ns;
        tell(event::end, track, "", nullptr);
        ended_ns_ = ns_;
    }

    // Where the last step ended.
    void end_running() {
        const int64_t now = std::exchange(ns_, ended_ns_);
        if (running_ != 0) tell(event::end, running_track, "", nullptr);
        running_ = 0;
        ns_ = now;
    }

    void tell(uint64_t type, uint64_t track, std::string_view name, const step_record* of) {
        message e;
        e.add(event::type, type);
        e.add(event::track_uuid, track);
        if (!name.empty()) e.add(event::name, name);
        if (of != nullptr) annotate(e, *of);
        message p;
        p.add(packet::timestamp, static_cast<uint64_t>(ns_));
        p.add(packet::sequence_id, sequence);
        p.add(packet::track_event, e);
        trace_.add(trace_packet, p);
    }

    void annotate(message& e, const step_record& r) {
        annotate(e, "simulated time", std::to_string(r.at_ns - begin_ns) + " ns");
        if (const std::string place = places_.of(r.frames); !place.empty()) annotate(e, "place", place);
        if (r.deviates) annotate(e, "by default", text_of(r.instead, o_, objects_));
    }

    static void annotate(message& e, std::string_view name, const std::string& value) {
        message a;
        a.add(annotation::name, name);
        a.add(annotation::string_value, value);
        e.add(event::debug_annotations, a);
    }

    const outcome& o_;
    object_numbers& objects_;
    place_finder& places_;
    message trace_;
    int64_t ns_ = 0;
    int64_t ended_ns_ = 0;
    int64_t last_at_ns_ = 0;
    uint32_t running_ = 0;
};

}  // namespace

void write_trace(const std::string& file, const outcome& o, object_numbers& objects, place_finder& places) {
    const std::string bytes = trace_maker(o, objects, places).make();
    std::ofstream to(file, std::ios::binary);
    to.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    to.close();
    if (to) return;
    weft::detail::warn("cannot write the trace of a simulation to %s: %s", file.c_str(), std::strerror(errno));
}

}  // namespace weft::sim
