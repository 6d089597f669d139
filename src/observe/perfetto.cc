// perfetto.cc: a recording in the protobuf format of Perfetto.
//
// The tracks:
//
//     process
//     ├─ Processors          one for each P: slices say which green thread ran
//     ├─ Green threads       one for each, under the place where it was started: runnable, waiting
//     │                      for what, or in a blocking call; below it its regions
//     ├─ a thread            one for each M: on which P it was, when it slept, what it stole
//     └─ counters            runnable green threads, and the counters of the program
//
// A wake-up is an instant on the waker's track, with an arrow to the slice of the P on which the
// woken green thread then runs. Of more than own_tracks_max green threads, the later ones without a
// name share lanes, because viewers slow down with each track.
//
// Packets are compressed in large pieces, each of which is a packet of its own.
//
// Field numbers are those of the published schema, protos/perfetto/trace/perfetto_trace.proto.
#include <zlib.h>

#include <new>
#include <protozero/pbf_writer.hpp>
#include <set>
#include <string>
#include <unordered_map>

#include "debug/g_snapshot.h"
#include "events/perfetto_fields.h"
#include "observe/exporters.h"
#include "observe/output.h"
#include "observe/timeline.h"

namespace weft::observe::detail {

namespace {

using protozero::pbf_writer;
using weft::detail::event_kind;

namespace debug_annotation = weft::detail::perfetto::debug_annotation;
namespace descriptor = weft::detail::perfetto::descriptor;
namespace packet = weft::detail::perfetto::packet;
namespace process_fields = weft::detail::perfetto::process;
namespace track_event = weft::detail::perfetto::track_event;

using weft::detail::perfetto::trace_packet;

constexpr uint32_t sequence = 1;

constexpr uint32_t clock_realtime = 1;
constexpr uint32_t clock_monotonic = 3;
constexpr uint32_t clock_of_deltas = 64;  // of this sequence: each timestamp is relative to the last one

// Identifiers of tracks. Small ones take fewer bytes.
constexpr uint64_t process_track = 1;
constexpr uint64_t processors = 2;
constexpr uint64_t green_threads = 3;
constexpr uint64_t runnable_track = 4;
constexpr uint64_t first_p = 16;
constexpr uint64_t first_thread = 2'048;
constexpr uint64_t first_site = 16'384;
constexpr uint64_t first_counter = 32'768;
constexpr uint64_t first_g = 65'536;

constexpr std::size_t own_tracks_max = 1000;
constexpr int64_t runnable_every_ns = 20'000;

class perfetto_writer final : public teller {
public:
    perfetto_writer(const recorded& r, output& to) : r_(r), to_(to), last_ns_(r.began_ns) {}

    void write() {
        begin();
        describe(process_track, [&](pbf_writer& d) {
            pbf_writer process(d, descriptor::process);
            process.add_int32(process_fields::pid, r_.pid);
            process.add_string(process_fields::name, r_.program);
        });
        describe_group(processors, "Processors", 1);
        describe_group(green_threads, "Green threads", 2);
        describe_counter(runnable_track, "runnable green threads");
        for (std::size_t i = 0; i < r_.threads.size(); ++i) describe_thread(i);
        replay(r_, *this);
        flush();
    }

    // Where it runs is a slice of the P, why it does not is one of its own track.
    void changes(const change& c) override {
        const track& g = c.before;
        const uint64_t own = track_of(g);
        const bool is_shown = g.now != life::unknown && !g.is_assumed;
        if (is_shown && g.now == life::running) end_on_p(c.ns, g.p, g);
        if (is_shown && g.now != life::running) end(own, c.ns, g.stack);
        const int before = is_shown && g.now == life::runnable ? 1 : 0;
        count_runnable(c.ns, (c.after == life::runnable ? 1 : 0) - before);
        if (c.after == life::running) {
            begin_on_p(c.ns, c.p, g, g.flow);
        } else if (c.after != life::ended) {
            begin_slice(c.ns, own, name_iid(name_of(c)), 0);
        }
    }

    void moves(int64_t ns, const track& g, uint32_t from_p, uint32_t to_p) override {
        end_on_p(ns, from_p, g);
        begin_on_p(ns, to_p, g, 0);
    }

    void wakes(const wake_up& w) override {
        static_cast<void>(track_of(w.woken));
        const uint64_t on = w.waker != nullptr ? track_of(*w.waker) : first_thread + w.thread;
        const uint32_t name = name_iid("wake");
        event(w.ns, [&](pbf_writer& e) {
            e.add_enum(track_event::type, track_event::instant);
            e.add_uint64(track_event::name_iid, name);
            e.add_uint64(track_event::track_uuid, on);
            e.add_fixed64(track_event::flow_ids, w.flow);
        });
    }

    void relabels(int64_t ns, const track& g, uint32_t labels, uint32_t thread) override {
        log(ns, &g, thread, "labels " + labels_text(r_, labels));
    }

    void begin_region(int64_t ns, const track& g, const char* name) override {
        const uint64_t own = track_of(g) + 1;
        if (described_regions_.insert(own).second) {
            describe(own, [&](pbf_writer& d) {
                d.add_string(descriptor::name, "regions");
                d.add_uint64(descriptor::parent, own - 1);
            });
        }
        begin_slice(ns, own, name_iid(name), 0);
    }

    void end_region(int64_t ns, const track& g) override { end(track_of(g) + 1, ns); }

    void counter(int64_t ns, uint32_t /*thread*/, const char* name, double value) override {
        const auto [found, is_new] = counters_.try_emplace(name, first_counter + counters_.size());
        const uint64_t on = found->second;
        if (is_new) describe_counter(on, name);
        event(ns, [&](pbf_writer& e) {
            e.add_enum(track_event::type, track_event::counter);
            e.add_uint64(track_event::track_uuid, on);
            e.add_double(track_event::double_counter_value, value);
        });
    }

    void log(int64_t ns, const track* g, uint32_t thread, const std::string& text) override {
        instant(ns, g != nullptr ? track_of(*g) : first_thread + thread, text);
    }

    void thread_event(const step& s) override {
        const uint64_t on = first_thread + s.thread;
        switch (s.kind) {
            case event_kind::p_taken:
                return begin_on_thread(s.ns, s.thread, "P" + std::to_string(s.argument));
            case event_kind::p_given:
                if (s.detail == static_cast<uint8_t>(weft::detail::event_loss::retaken)) return retaken(s);
                return end_on_thread(s.ns, s.thread);
            case event_kind::steal:
                return instant(s.ns, on, "steals " + std::to_string(s.id) + " from P" + std::to_string(s.argument));
            case event_kind::poll:
                return instant(s.ns, on, "poll: " + std::to_string(s.id) + " ready");
            case event_kind::timers:
                return instant(s.ns, on, "timers: " + std::to_string(s.id));
            case event_kind::cpu_delay:
                return delayed(s);
            default:
                return;
        }
    }

private:
    static std::string name_of(const change& c) {
        switch (c.after) {
            case life::runnable:
                return "runnable";
            case life::in_call:
                return "blocking call";
            case life::waiting:
                return weft::detail::text(static_cast<weft::detail::wait_reason>(c.reason));
            default:
                return "?";
        }
    }

    // ---- Packets. fill must not add another one.

    template <typename F>
    void add_packet(F fill) {
        {
            pbf_writer trace(bytes_);
            pbf_writer p(trace, trace_packet);
            p.add_uint32(packet::sequence_id, sequence);
            fill(p);
        }
        if (bytes_.size() >= output::piece) flush();
    }

    void flush() {
        auto size = ::compressBound(bytes_.size());
        compressed_.resize(size);
        const int status = ::compress2(reinterpret_cast<Bytef*>(compressed_.data()), &size,
                                       reinterpret_cast<const Bytef*>(bytes_.data()), bytes_.size(), Z_BEST_SPEED);
        if (status != Z_OK) throw std::bad_alloc();  // all else is impossible with that size
        compressed_.resize(size);
        bytes_.clear();
        std::string whole;
        {
            pbf_writer trace(whole);
            pbf_writer p(trace, trace_packet);
            p.add_bytes(packet::compressed_packets, compressed_);
        }
        to_.append(whole);
    }

    void begin() {
        add_packet([&](pbf_writer& p) {
            p.add_uint32(packet::sequence_flags, packet::state_cleared);
            p.add_bool(packet::first_on_sequence, true);
            {
                pbf_writer snapshot(p, packet::clock_snapshot);
                const auto add = [&](uint32_t id, int64_t ns, bool is_incremental) {
                    pbf_writer clock(snapshot, 1);
                    clock.add_uint32(1, id);
                    clock.add_uint64(2, static_cast<uint64_t>(ns));
                    if (is_incremental) clock.add_bool(3, true);
                };
                add(clock_monotonic, r_.began_ns, false);
                add(clock_realtime, r_.began_ns + r_.realtime_minus_monotonic_ns, false);
                add(clock_of_deltas, r_.began_ns, true);
                snapshot.add_uint32(2, clock_monotonic);
            }
            pbf_writer d(p, packet::defaults);
            d.add_uint32(packet::timestamp_clock_id, clock_of_deltas);
        });
    }

    template <typename F>
    void event(int64_t ns, F fill) {
        add_packet([&](pbf_writer& p) {
            const int64_t time = ns < last_ns_ ? last_ns_ : ns;
            p.add_uint64(packet::timestamp, static_cast<uint64_t>(time - last_ns_));
            last_ns_ = time;
            p.add_uint32(packet::sequence_flags, packet::needs_state);
            pbf_writer e(p, packet::track_event);
            fill(e);
        });
    }

    // flow: 0, or that of the wake-up which led to it.
    void begin_slice(int64_t ns, uint64_t on, uint32_t name, uint64_t flow) {
        event(ns, [&](pbf_writer& e) {
            e.add_enum(track_event::type, track_event::begin);
            e.add_uint64(track_event::name_iid, name);
            e.add_uint64(track_event::track_uuid, on);
            if (flow != 0) e.add_fixed64(track_event::terminating_flow_ids, flow);
        });
    }

    // A G that runs without a P is on the track of its own, so that the arrow of its wake-up ends.
    void begin_on_p(int64_t ns, uint32_t p, const track& g, uint64_t flow) {
        if (p == no_p) return begin_slice(ns, track_of(g), name_iid("running without a P"), flow);
        const uint64_t on = track_of_p(p);
        uint64_t& open = open_on_p_[p];
        if (open != 0) end(on, ns);
        open = g.id;
        begin_slice(ns, on, name_iid(title_of(r_, g)), flow);
    }

    // Not if another G has begun there: the events of two threads may be out of order.
    void end_on_p(int64_t ns, uint32_t p, const track& g) {
        if (p == no_p) return end(track_of(g), ns);
        uint64_t& open = open_on_p_[p];
        if (open != g.id) return;
        open = 0;
        end(track_of_p(p), ns);
    }

    void retaken(const step& s) {
        instant(s.ns, track_of_p(static_cast<uint32_t>(s.argument)), "retaken");
        for (uint32_t i = 0; i < r_.threads.size(); ++i) {
            if (!r_.threads[i].is_outside && r_.threads[i].m == s.id) end_on_thread(s.ns, i);
        }
    }

    void delayed(const step& s) {
        for (uint32_t i = 0; i < r_.threads.size(); ++i) {
            const recorded_ring& t = r_.threads[i];
            if (!t.is_outside && t.m == s.id)
                instant(s.ns, first_thread + i, "waited for a CPU: " + std::to_string(s.argument / 1000) + " us");
        }
    }

    // stack: 0, or where it waited: an argument of the slice.
    void end(uint64_t on, int64_t ns, uint32_t stack = 0) {
        event(ns, [&](pbf_writer& e) {
            e.add_enum(track_event::type, track_event::end);
            e.add_uint64(track_event::track_uuid, on);
            if (stack == 0) return;
            pbf_writer annotation(e, track_event::debug_annotations);
            annotation.add_string(debug_annotation::name, "stack");
            annotation.add_string(debug_annotation::string_value, r_.texts[stack]);
        });
    }

    void instant(int64_t ns, uint64_t on, const std::string& name) {
        event(ns, [&](pbf_writer& e) {
            e.add_enum(track_event::type, track_event::instant);
            e.add_uint64(track_event::track_uuid, on);
            e.add_string(track_event::name, name);
        });
    }

    // At most once per runnable_every_ns: otherwise a fifth of the file.
    void count_runnable(int64_t ns, int change) {
        runnable_ += change;
        if (change == 0 || ns - runnable_shown_ns_ < runnable_every_ns) return;
        runnable_shown_ns_ = ns;
        event(ns, [&](pbf_writer& e) {
            e.add_enum(track_event::type, track_event::counter);
            e.add_uint64(track_event::track_uuid, runnable_track);
            e.add_int64(track_event::counter_value, runnable_);
        });
    }

    uint32_t name_iid(const std::string& name) {
        const auto [found, is_new] = names_.try_emplace(name, static_cast<uint32_t>(names_.size() + 1));
        const uint32_t number = found->second;
        if (is_new) {
            add_packet([&](pbf_writer& p) {
                p.add_uint32(packet::sequence_flags, packet::needs_state);
                pbf_writer data(p, packet::interned_data);
                pbf_writer entry(data, 2);
                entry.add_uint64(1, number);
                entry.add_string(2, name);
            });
        }
        return number;
    }

    // ---- Tracks.

    template <typename F>
    void describe(uint64_t uuid, F fill) {
        add_packet([&](pbf_writer& p) {
            pbf_writer d(p, packet::track_descriptor);
            d.add_uint64(descriptor::uuid, uuid);
            fill(d);
        });
    }

    void describe_group(uint64_t uuid, const char* name, int rank) {
        describe(uuid, [&](pbf_writer& d) {
            d.add_string(descriptor::name, name);
            d.add_uint64(descriptor::parent, process_track);
            d.add_enum(descriptor::child_ordering, descriptor::ordered_by_rank);
            d.add_int32(descriptor::rank, rank);
        });
    }

    void describe_counter(uint64_t uuid, const std::string& name) {
        describe(uuid, [&](pbf_writer& d) {
            d.add_string(descriptor::name, name);
            d.add_uint64(descriptor::parent, process_track);
            d.add_message(descriptor::counter, "", 0);  // empty; a pbf_writer would leave it out
        });
    }

    void describe_thread(std::size_t i) {
        const recorded_ring& t = r_.threads[i];
        describe(first_thread + i, [&](pbf_writer& d) {
            if (t.is_outside || t.tid == 0) {
                d.add_string(descriptor::name, t.is_outside ? "other threads" : "M" + std::to_string(t.m));
                d.add_uint64(descriptor::parent, process_track);
                return;
            }
            pbf_writer thread(d, descriptor::thread);
            thread.add_int32(1, r_.pid);
            thread.add_int32(2, t.tid);
            thread.add_string(5, "M" + std::to_string(t.m));
        });
    }

    uint64_t track_of_p(uint32_t p) {
        const uint64_t uuid = first_p + p;
        if (described_ps_.insert(p).second) {
            describe(uuid, [&](pbf_writer& d) {
                d.add_string(descriptor::name, "P" + std::to_string(p));
                d.add_uint64(descriptor::parent, processors);
                d.add_int32(descriptor::rank, static_cast<int>(p));
                d.add_enum(descriptor::merge_behavior, descriptor::never_merged);
            });
        }
        return uuid;
    }

    uint64_t group_of_site(uint64_t site) {
        const auto [found, is_new] = sites_.try_emplace(site, first_site + sites_.size());
        if (is_new) {
            const std::string place = place_of(r_, site);
            describe(found->second, [&](pbf_writer& d) {
                d.add_string(descriptor::name, place.empty() ? "started before the recording" : "started at " + place);
                d.add_uint64(descriptor::parent, green_threads);
            });
        }
        return found->second;
    }

    uint64_t track_of(const track& g) {
        const auto [found, is_new] = gs_.try_emplace(g.id, first_g + 2 * gs_.size());
        if (is_new) {
            const uint64_t group = group_of_site(g.site);
            const bool is_own = g.name != 0 || gs_.size() <= own_tracks_max;
            describe(found->second, [&](pbf_writer& d) {
                d.add_string(descriptor::name, is_own ? title_of(r_, g) : place_of(r_, g.site));
                d.add_uint64(descriptor::parent, group);
                d.add_enum(descriptor::merge_behavior, is_own ? descriptor::never_merged : descriptor::merged_by_key);
                if (!is_own) d.add_uint64(descriptor::merge_key, group);
            });
        }
        return found->second;
    }

    void begin_on_thread(int64_t ns, uint32_t thread, const std::string& name) {
        end_on_thread(ns, thread);
        open_on_thread_.insert(thread);
        event(ns, [&](pbf_writer& e) {
            e.add_enum(track_event::type, track_event::begin);
            e.add_uint64(track_event::track_uuid, first_thread + thread);
            e.add_string(track_event::name, name);
        });
    }

    void end_on_thread(int64_t ns, uint32_t thread) {
        if (open_on_thread_.erase(thread) != 0) end(first_thread + thread, ns);
    }

    const recorded& r_;
    output& to_;
    std::string bytes_;
    std::string compressed_;
    int64_t last_ns_;
    int64_t runnable_ = 0;
    int64_t runnable_shown_ns_ = 0;
    std::unordered_map<std::string, uint32_t> names_;
    std::unordered_map<std::string, uint64_t> counters_;
    std::unordered_map<uint64_t, uint64_t> sites_;
    std::unordered_map<uint64_t, uint64_t> gs_;
    std::set<uint32_t> described_ps_;
    std::unordered_map<uint32_t, uint64_t> open_on_p_;  // the G whose slice is open; 0: none
    std::set<uint32_t> open_on_thread_;
    std::set<uint64_t> described_regions_;
};

}  // namespace

void write_perfetto(const recorded& r, const std::string& path) {
    output to(path);
    perfetto_writer(r, to).write();
    to.close();
}

}  // namespace weft::observe::detail
