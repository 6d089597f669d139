// stack_profile.cc: see stack_profile.h.
#include "per_g/stack_profile.h"

#include <algorithm>
#include <cstring>

namespace weft::detail {

namespace {

// A header that two files include has two copies of its name.
bool same(const source_location& a, const source_location& b) noexcept {
    return a.line() == b.line() && a.column() == b.column() &&
           (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

}  // namespace

void stack_profile::note(const source_location& where, std::size_t waiting, std::size_t touched) noexcept {
    lock_.lock();
    std::size_t i = 0;
    while (i < count_ && !same(rows_[i].where, where)) ++i;
    if (i == places_max) {
        --i;
        rows_[i].where = source_location();
    } else if (i == count_) {
        rows_[count_++].where = where;
    }
    stack_use_at& row = rows_[i];
    ++row.measured;
    row.waiting = std::max(row.waiting, waiting);
    row.touched = std::max(row.touched, touched);
    lock_.unlock();
}

std::size_t stack_profile::copy(std::span<stack_use_at> into) noexcept {
    lock_.lock();
    std::sort(rows_, rows_ + count_,
              [](const stack_use_at& a, const stack_use_at& b) { return a.touched > b.touched; });
    const std::size_t count = count_;
    std::copy_n(rows_, std::min(count, into.size()), into.begin());
    lock_.unlock();
    return count;
}

}  // namespace weft::detail
