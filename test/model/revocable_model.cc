// revocable_model.cc: an object that threads call while its owner takes it back and destroys it. No
// call reaches it after that, and the owner sees what the calls have written.
//
// mutants: CALL_RELAXED REVOKE_RELAXED DONE_RELAXED
#include "model.h"

#if defined(MUTANT_CALL_RELAXED)
#undef seq_cst
#define seq_cst RELAXED_IN("call", rl::mo_seq_cst)
#elif defined(MUTANT_REVOKE_RELAXED)
#undef seq_cst
#define seq_cst RELAXED_IN("revoke", rl::mo_seq_cst)
#elif defined(MUTANT_DONE_RELAXED)
#undef release
#define release RELAXED_IN("call", rl::mo_release)
#endif
#include "base/revocable.h"

namespace {

using namespace model;

template <unsigned Callers>
struct object {
    guarded<uint32_t> calls[Callers];

    object() {
        for (auto& c : calls) c = 0;
    }
};

// The owner sets Objects objects, one after the other. Each caller calls Each times.
template <typename Derived, unsigned Callers, unsigned Stripes, unsigned Each, unsigned Objects>
struct suite : rl::test_suite<Derived, Callers + 1> {
    using target = object<Callers>;

    revocable<target, Stripes> place;
    box<target> objects[Objects];

    void before() { RL_ASSERT(place.set(*objects[0])); }

    void thread(unsigned me) {
        if (me == Callers) return own();
        for (unsigned i = 0; i < Each; ++i) {
            place.call(me, [&](target& t) { ++t.calls[me]; });
        }
    }

    void own() {
        for (unsigned i = 0; i < Objects; ++i) {
            if (i != 0) RL_ASSERT(place.set(*objects[i]));
            place.revoke();
            uint32_t calls = 0;
            for (const auto& c : objects[i]->calls) calls += c;
            RL_ASSERT(calls <= Callers * Each && !place.is_set());
            objects[i].destroy();
        }
    }
};

struct one_caller : suite<one_caller, 1, 1, 2, 1> {};

struct two_callers : suite<two_callers, 2, 2, 1, 1> {};

struct one_count : suite<one_count, 2, 1, 1, 1> {};

struct two_objects : suite<two_objects, 2, 2, 2, 2> {};

}  // namespace

int main() {
    const bool ok = check<one_caller>("one caller", all) && check<two_callers>("two callers", switches(4)) &&
                    check<one_count>("two callers, one count", switches(4)) &&
                    check<two_objects>("two objects, one after the other", switches(2)) &&
                    check<two_objects>("two objects, one after the other", random(100000));
    return ok ? 0 : 1;
}
