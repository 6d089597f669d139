// batch_reader.h: reads green threads eight at a time, while these are frozen (sched/freeze.h).
//
// Dumps and profiles share it.
//
// Threads: one that keeps the scheduler of the Gs alive.
#pragma once

#include <cstdint>
#include <utility>

#include <weft/labels.h>

#include "debug/g_snapshot.h"
#include "os/os.h"
#include "per_g/labels.h"
#include "sched/freeze.h"

namespace weft::detail {

// Calls pass(const g_snapshot&, const label_set&) for each G that lives. No G is frozen then. The
// set is empty if shares_labels is false.
template <typename Pass>
class batch_reader {
public:
    static constexpr int batch_size = 8;  // on the caller's stack

    batch_reader(scheduler& s, Pass pass, bool shares_labels = false) noexcept
        : s_(s), pass_(pass), shares_labels_(shares_labels) {}

    void add(G& g) {
        gs_[count_++] = &g;
        if (count_ == batch_size) read();
    }

    // Those that were added last.
    void read() {
        {
            const frozen still(gs_, static_cast<uint32_t>(count_));
            for (int i = 0; i < count_; ++i) take(i);
        }
        for (int i = 0; i < count_; ++i) let_arrive(i);
        for (int i = 0; i < count_; ++i) {
            seen_[i].find_thread(s_, *gs_[i]);
            const label_set labels = std::move(labels_[i]);
            if (seen_[i].state != g_state::dead) pass_(seen_[i], labels);
        }
        count_ = 0;
    }

private:
    // It is frozen, and labels_[i] is empty, so that no set is freed now.
    void take(int i) noexcept {
        seen_[i].take(*gs_[i]);
        if (shares_labels_ && seen_[i].state != g_state::dead) labels_[i] = share_labels(*gs_[i]);
    }

    // A running G on no thread is about to wait, or to run on one, but its thread may be
    // descheduled.
    void let_arrive(int i) noexcept {
        constexpr int64_t pause_ns = 200'000;
        while (pauses_left_ > 0 && seen_[i].state == g_state::running) {
            runner r;
            if (find_runner(s_, gs_[i], r)) return;
            --pauses_left_;
            os::sleep_ns(pause_ns);
            labels_[i] = {};  // it may have become another G
            const frozen still(&gs_[i], 1);
            take(i);
        }
    }

    scheduler& s_;
    Pass pass_;
    bool shares_labels_;
    int pauses_left_ = 25;  // for the whole dump: 5 ms
    int count_ = 0;
    G* gs_[batch_size];
    g_snapshot seen_[batch_size];
    label_set labels_[batch_size];
};

}  // namespace weft::detail
