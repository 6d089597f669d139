// spin_lock_model.cc: spin_lock and guarded_word. There is one holder at a time, the next holder
// sees what the previous one wrote, and the object may be destroyed as soon as the store that frees
// the lock is visible.
//
// mutants: LOCK_RELAXED UNLOCK_RELAXED LOCK_BITS_RELAXED LOCK_BLINDLY TOUCHED_AFTER_UNLOCK
#include "model.h"

#if defined(MUTANT_LOCK_RELAXED)
#undef acquire
#define acquire RELAXED_IN("lock", rl::mo_acquire)
#elif defined(MUTANT_LOCK_BITS_RELAXED)
#undef acquire
#define acquire RELAXED_IN("lock_bits", rl::mo_acquire)
#elif defined(MUTANT_UNLOCK_RELAXED)
#undef release
#define release rl::mo_relaxed, $
#elif defined(MUTANT_LOCK_BLINDLY)
#define exchange(value, ...) fetch_or(value, __VA_ARGS__) == 77 && 0
#endif
#include <weft/detail/spin_lock.h>
#undef exchange

namespace {

using namespace model;

void free_it(guarded_word& word, uint32_t bits) {
    word.unlock_bits(bits);
#if defined(MUTANT_TOUCHED_AFTER_UNLOCK)
    (void)word.word().load(rl::mo_relaxed, $);
#endif
}

template <int Threads>
struct counting : rl::test_suite<counting<Threads>, Threads> {
    spin_lock lock;
    guarded<int> count = 0;

    void thread(unsigned) {
        for (int i = 0; i < 2; ++i) {
            lock.lock();
            ++count;
            lock.unlock();
        }
    }

    void after() { RL_ASSERT(count == 2 * Threads); }
};

// The object's own bits: each holder adds one to them. Other threads change them by
// compare-exchange while the lock is free (I1).
struct bits : rl::test_suite<bits, 3> {
    static constexpr uint32_t one = 2;
    guarded_word word;
    guarded<int> count = 0;

    void thread(unsigned me) {
        if (me < 2) {
            const uint32_t seen = word.lock_bits();
            ++count;
            word.unlock_bits(seen + one);
            return;
        }
        uint32_t seen = word.word().load(rl::mo_relaxed, $);
        while ((seen & guarded_word::guard) != 0 ||
               !word.word().compare_exchange_weak(seen, seen + one, rl::mo_relaxed, $, rl::mo_relaxed, $)) {
            spin_backoff(0);
            seen = word.word().load(rl::mo_relaxed, $);
        }
    }

    void after() {
        RL_ASSERT(count == 2);
        RL_ASSERT(word.lock_bits() == 3 * one);
    }
};

// The second holder finds that the first is done, and destroys the object.
struct destroyed : rl::test_suite<destroyed, 2> {
    struct object {
        guarded_word word;
        guarded<int> holders = 0;
    };

    box<object> it;

    void thread(unsigned) {
        const uint32_t seen = it->word.lock_bits();
        ++it->holders;
        if (it->holders == 2) {
            it->word.unlock_bits(seen);
            it.destroy();
        } else {
            free_it(it->word, seen);
        }
    }
};

}  // namespace

int main() {
    const bool ok = check<counting<2>>("spin_lock, two threads, twice", all) &&                //
                    check<counting<3>>("spin_lock, three threads, twice", random(300'000)) &&  //
                    check<bits>("bits beside the lock", switches(5)) &&                        //
                    check<bits>("bits beside the lock", random(300'000)) &&                    //
                    check<destroyed>("destroyed by the second holder", all);
    return ok ? 0 : 1;
}
