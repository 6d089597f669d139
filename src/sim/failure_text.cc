// failure_text.cc: see failure_text.h.
#include "sim/failure_text.h"

#include <utility>

namespace weft::sim {

namespace {

constexpr std::size_t shown_max = 60;  // steps in a text

// In front of the number of its object, if it has one.
const char* words_of(weft::detail::operation what) noexcept {
    using enum weft::detail::operation;
    switch (what) {
        case start:
            return "starts";
        case run:
            return "goes on after a wait";
        case yield:
            return "yields";
        case chan_send:
            return "sends on channel";
        case chan_receive:
            return "receives from channel";
        case chan_close:
            return "closes channel";
        case chan_read:
            return "looks at channel";
        case select:
            return "selects";
        case mutex_lock:
            return "locks mutex";
        case mutex_try_lock:
            return "tries to lock mutex";
        case mutex_unlock:
            return "unlocks mutex";
        case shared_mutex_lock:
            return "locks shared mutex";
        case shared_mutex_try_lock:
            return "tries to lock shared mutex";
        case shared_mutex_lock_shared:
            return "becomes a reader of shared mutex";
        case shared_mutex_try_lock_shared:
            return "tries to become a reader of shared mutex";
        case shared_mutex_unlock:
            return "unlocks shared mutex";
        case semaphore_acquire:
            return "acquires semaphore";
        case semaphore_release:
            return "releases semaphore";
        case condition_wait:
            return "waits on condition variable";
        case condition_notify:
            return "notifies condition variable";
        case count_add:
            return "changes count";
        case count_wait:
            return "waits for count";
        case event_set:
            return "sets or resets event";
        case event_wait:
            return "looks at event";
        case latch:
            return "counts down latch";
        case barrier:
            return "arrives at barrier";
        case once:
            return "calls once";
        case timer:
            return "sets timer";
        case cancel:
            return "cancels context";
        case checkpoint:
            return "reaches a checkpoint";
        case value_read:
            return "reads value";
        case value_write:
            return "writes value";
        case socket_send:
            return "sends on socket";
        case socket_receive:
            return "receives from socket";
        case socket_accept:
            return "accepts on socket";
        case socket_connect:
            return "connects socket";
        case socket_close:
            return "closes descriptor";
    }
    return "?";
}

}  // namespace

std::string name_of_g(uint32_t number, const g_record& g) {
    return g.name.empty() ? "green thread " + std::to_string(number) : g.name;
}

std::string text_of_operation(const candidate& step, object_numbers& objects) {
    std::string text = words_of(step.next);
    if (const std::size_t object = objects.of(step.object); object != 0) text += " #" + std::to_string(object);
    return text;
}

std::string text_of(const candidate& step, const outcome& o, object_numbers& objects) {
    if (step.g == 0) return "the clock moves to the next timer";
    const g_record& g = o.green_threads[step.g];
    std::string text = name_of_g(step.g, g) + " " + text_of_operation(step, objects);
    if (step.next == weft::detail::operation::start && !g.started.empty()) text += " (" + g.started + ")";
    return text;
}

std::string text_of(const step_record& step, const outcome& o, object_numbers& objects, place_finder& places) {
    if (!step.note.empty()) return step.note;
    std::string text = text_of(candidate{step.g, step.what, step.object}, o, objects);
    if (step.what != weft::detail::operation::start)
        if (const std::string place = places.of(step.frames); !place.empty()) text += " (" + place + ")";
    if (step.deviates) text += "; by default: " + text_of(step.instead, o, objects);
    return text;
}

// Of a long run only the begin and the end, and what is not a step.
std::string text_of(const outcome& o, object_numbers& objects, place_finder& places) {
    std::string text;
    const std::size_t hidden = o.records.size() > shown_max ? o.records.size() - shown_max : 0;
    std::size_t left_out = 0;
    const auto say_left_out = [&] {
        if (left_out != 0) text += "  ... " + std::to_string(left_out) + " steps\n";
        left_out = 0;
    };
    for (std::size_t i = 0; i < o.records.size(); ++i) {
        const step_record& record = o.records[i];
        if (i >= shown_max / 2 && i < shown_max / 2 + hidden && record.note.empty()) {
            ++left_out;
            continue;
        }
        say_left_out();
        text += !record.note.empty() ? "-- " : record.deviates ? " > " : "   ";
        text += text_of(record, o, objects, places) + '\n';
    }
    return text;
}

// Of an inversion: what each green thread holds and wants.
std::string text_of_locks(const outcome& o, object_numbers& objects, place_finder& places) {
    const auto lock = [&](const void* object, const lock_order::frames& where) {
        const std::string place = places.of(where);
        return "#" + std::to_string(objects.of(object)) + (place.empty() ? "" : " (" + place + ")");
    };
    std::string text;
    for (const lock_order::edge& e : o.locks) {
        text += text.empty() ? "" : "; ";
        text += name_of_g(e.g, o.green_threads[e.g]) + " holds " + lock(e.held, e.held_frames) + " and locks " +
                lock(e.wanted, e.wanted_frames);
    }
    return text + "; no schedule has deadlocked, but another may";
}

}  // namespace weft::sim
