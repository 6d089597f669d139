// asking.cc: see asking.h.
#include "asking.h"

#include "handoff/preempt.h"
#include "sched/switch.h"

namespace weft::test {

using namespace weft::detail;

namespace {

void ask_all(scheduler& s) {
    for (uint32_t i = 0; i < s.ps.in_use(); ++i) request_preempt(s, s.ps[i]);
}

scheduler& own() { return *current_g_m()->home; }

}  // namespace

asking::asking(std::chrono::nanoseconds interval)
    : thread_([this, &s = own(), interval] {
          while (!over_) {
              ask_all(s);
              if (interval.count() != 0) std::this_thread::sleep_for(interval);
          }
      }) {}

asking::~asking() {
    over_ = true;
    thread_.join();
}

void ask_myself() {
    const M* m = current_g_m();
    request_preempt(*m->home, *m->p);
}

uint64_t times_preempted() {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < own().ps.made(); ++i) sum += own().ps[i].count.preempted.get();
    return sum;
}

uint64_t times_interrupted() {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < own().ps.made(); ++i) sum += own().ps[i].count.interrupted.get();
    return sum;
}

bool is_kept() { return (current_g_m()->g->special.load(relaxed) & special::kept) != 0; }

}  // namespace weft::test
