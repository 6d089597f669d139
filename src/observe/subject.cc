// subject.cc: see subject.h.
#include "observe/subject.h"

#include "base/generation.h"
#include "observe/access.h"
#include "os/os.h"
#include "sched/scheduler.h"

namespace weft::observe::detail {

using weft::detail::relaxed;

pinned_subject::~pinned_subject() {
    if (s_ != nullptr) s_->unpin();
}

subject::subject(const runtime& of, const char* what) {
    const weft::detail::runtime_use s = access::of(of, what);
    source_ = s->record;
}

pinned_subject subject::use() const noexcept {
    source_->changing.lock();
    weft::detail::scheduler* s = source_->of;
    if (s != nullptr && weft::detail::is_from_before_fork(*s)) s = nullptr;  // the child has none of its threads
    if (s != nullptr) {
        s->pin();
        if (!weft::detail::os::heavy_fence()) WEFT_FULL_FENCE();
        if (s->stopping.load(relaxed)) {  // relaxed: after the fence
            s->unpin();
            s = nullptr;
        }
    }
    source_->changing.unlock();
    return pinned_subject(s);
}

}  // namespace weft::observe::detail
