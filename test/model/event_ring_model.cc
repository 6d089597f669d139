// event_ring_model.cc: the ring of recorded events between its writer and a reader. What the reader
// gets is whole, in order, and without a gap; the events before it are all that it misses.
//
// Event number n has n + 1 in each of its words.
//
// mutants: ADD_RELAXED READ_RELAXED NONE_UNDER_WAY
#include "events/event.h"
#include "model.h"

#if defined(MUTANT_ADD_RELAXED)
#undef release
#define release RELAXED_IN("add", rl::mo_release)
#elif defined(MUTANT_READ_RELAXED)
#undef acquire
#define acquire RELAXED_IN("read", rl::mo_acquire)
#elif defined(MUTANT_NONE_UNDER_WAY)
#define events_under_way 0
#endif
#include "events/event_ring.h"

namespace {

using namespace model;

template <typename Derived, int Threads, unsigned Capacity, unsigned Events>
struct suite : rl::test_suite<Derived, Threads> {
    event_ring::place places[Capacity];
    event_ring ring{places, Capacity};

    void before() {
        for (event_ring::place& p : places) {
            for (auto& word : p.words) word.store(0, relaxed);
        }
    }

    void write() {
        for (uint64_t n = 0; n < Events; ++n) ring.add(n + 1, n + 1, n + 1);
    }

    // Reads once, and returns the number of the next event.
    uint64_t read(uint64_t from, std::size_t most) {
        event got[Capacity];
        const uint64_t before = from;
        const std::size_t count = ring.read(from, got, most);
        RL_ASSERT(from >= before && from <= Events && count <= most);
        for (std::size_t i = 0; i < count; ++i) {
            const uint64_t n = from - count + i;
            RL_ASSERT(got[i].ticks == n + 1 && got[i].what == n + 1 && got[i].argument == n + 1);
        }
        return from;
    }
};

struct read_once : suite<read_once, 2, 2, 3> {
    void thread(unsigned me) {
        if (me == 0) {
            write();
        } else {
            read(0, 2);
        }
    }
};

struct read_twice : suite<read_twice, 2, 2, 3> {
    void thread(unsigned me) {
        if (me == 0) {
            write();
        } else {
            read(read(0, 1), 2);
        }
    }

    // After the last write, a reader gets to the end.
    void after() {
        const uint64_t next = read(0, 2);
        RL_ASSERT(next == 3);
    }
};

}  // namespace

int main() {
    const bool ok = check<read_once>("one read", all) &&  //
                    check<read_twice>("two reads", switches(5));
    return ok ? 0 : 1;
}
