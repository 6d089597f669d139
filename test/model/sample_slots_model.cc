// sample_slots_model.cc: places for samples between handlers and the collector. Each sample is
// taken once and whole, or is counted as lost.
//
// A sample has its number in both of its words.
//
// mutants: FULL_RELAXED TAKE_RELAXED CLAIM_RELAXED EMPTY_RELAXED
#include "model.h"

#if defined(MUTANT_FULL_RELAXED)
#undef release
#define release RELAXED_IN("add", rl::mo_release)
#elif defined(MUTANT_TAKE_RELAXED)
#undef acquire
#define acquire RELAXED_IN("take_all", rl::mo_acquire)
#elif defined(MUTANT_CLAIM_RELAXED)
#undef acquire
#define acquire RELAXED_IN("add", rl::mo_acquire)
#elif defined(MUTANT_EMPTY_RELAXED)
#undef release
#define release RELAXED_IN("take_all", rl::mo_release)
#endif
#include "debug/sample_slots.h"

namespace {

using namespace model;

struct sample {
    guarded<uint32_t> words[2] = {0, 0};
};

template <typename Derived, unsigned Handlers, unsigned Each, unsigned Takes>
struct suite : rl::test_suite<Derived, Handlers + 1> {
    static constexpr uint32_t most = Handlers * Each;

    sample_slots<sample, 2> slots;
    uint32_t taken[most] = {};
    uint32_t refused[Handlers] = {};

    void thread(unsigned me) {
        if (me == Handlers) {
            for (unsigned i = 0; i < Takes; ++i) take();
            return;
        }
        for (uint32_t i = 0; i < Each; ++i) {
            const uint32_t number = me * Each + i + 1;
            const bool there = slots.add([&](sample& s) {
                for (auto& word : s.words) word = number;
            });
            if (!there) ++refused[me];
        }
    }

    void take() {
        slots.take_all([&](sample& s) {
            const uint32_t number = s.words[0];
            RL_ASSERT(number >= 1 && number <= most && s.words[1] == number);
            ++taken[number - 1];
        });
    }

    // Each sample was taken once, or is lost.
    void after() {
        take();
        uint32_t all = 0;
        for (const uint32_t count : taken) {
            RL_ASSERT(count <= 1);
            all += count;
        }
        uint32_t lost = 0;
        for (const uint32_t count : refused) lost += count;
        RL_ASSERT(all + lost == most && slots.lost() == lost);
    }
};

struct one_handler : suite<one_handler, 1, 3, 2> {};

struct two_handlers : suite<two_handlers, 2, 1, 1> {};

struct two_handlers_twice : suite<two_handlers_twice, 2, 2, 1> {};

}  // namespace

int main() {
    const bool ok = check<one_handler>("one handler", all) && check<two_handlers>("two handlers", all) &&
                    check<two_handlers_twice>("two handlers, twice each", switches(3));
    return ok ? 0 : 1;
}
