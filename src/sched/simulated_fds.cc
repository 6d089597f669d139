// simulated_fds.cc: see simulated_fds.h.
#include "sched/simulated_fds.h"

#include <weft/detail/step.h>

#include "sched/simulated_files.h"
#include "sched/simulation.h"

namespace weft::detail {

namespace {

constexpr int ranges = simulated_fds_first / simulated_fds_each;  // up to poll_desc::numbers_end

constinit atomic<simulated_fds*> table[ranges]{};

}  // namespace

int add_simulated_fds(simulated_fds& f) noexcept {
    for (int i = 0; i < ranges; ++i) {
        simulated_fds* none = nullptr;
        // release: pairs with simulated_fds_of
        if (table[i].compare_exchange_strong(none, &f, release, relaxed))
            return simulated_fds_first + i * simulated_fds_each;
    }
    return -1;
}

void remove_simulated_fds(int first) noexcept {
    table[(first - simulated_fds_first) / simulated_fds_each].store(nullptr, release);  // as above
}

simulated_fds* simulated_fds_of(int fd) noexcept {
    const int range = (fd - simulated_fds_first) / simulated_fds_each;
    return range < ranges ? table[range].load(acquire) : nullptr;  // pairs with add_simulated_fds
}

simulated_fds* simulated_fds_of_caller() noexcept {
    simulation* s = current_simulation();
    return s == nullptr ? nullptr : s->fds();
}

simulated_files* simulated_files_of(int fd) noexcept {
    simulated_fds* all = simulated_fds_of(fd);
    return all == nullptr ? nullptr : &all->files();
}

simulated_files* simulated_files_at(std::string_view path) {
    if (!simulates()) return nullptr;
    simulated_fds* all = simulated_fds_of_caller();
    if (all == nullptr || all->files().is_real(path)) return nullptr;
    return &all->files();
}

}  // namespace weft::detail
