// disk.cc: see weft/sim/disk.h.
#include <stdexcept>
#include <string>

#include <weft/sim/disk.h>

#include "base/assert.h"
#include "sim/controlled_run.h"

namespace weft::sim {

namespace {

controlled_run& run_of_disk() {
    auto* run = controlled_run::of_caller();
    if (run == nullptr) {
        weft::detail::fatal(
            "weft::sim::disk was used outside of a simulation; use it in the function that explore() or run() runs");
    }
    return *run;
}

unsigned number_on_disk(const host& of) {
    static_cast<void>(run_of_disk());
    return detail::host_access::number(of);
}

[[noreturn]] void refuse_disk(const std::string& why) { throw std::invalid_argument("weft::sim::disk: " + why); }

}  // namespace

// Hosts are not removed, so their numbers stay.
disk::disk(const host& of) : number_(number_on_disk(of)) {}

void disk::set(const disk_options& how) const {
    if (how.latency.count() < 0) refuse_disk("the latency must not be negative");
    if (how.jitter.count() < 0) refuse_disk("the jitter must not be negative");
    if (how.sector == 0) refuse_disk("the sector must not be 0");
    run_of_disk().network().disks().set(number_, how);
}

disk_options disk::options() const { return run_of_disk().network().disks().options(number_); }

void disk::fail(file_call what, std::errc error, const call_failures& which) const {
    if (error == std::errc{}) refuse_disk("a call fails with an error, and std::errc{} is none");
    run_of_disk().network().disks().fail(number_, what, static_cast<int>(error), which);
}

void disk::use_real(std::string_view directory) const {
    if (!directory.starts_with('/') || directory.find("..") != std::string_view::npos)
        refuse_disk("\"" + std::string(directory) + "\" is not an absolute path; write one without ..");
    run_of_disk().network().disks().use_real(number_, directory);
}

uint64_t disk::used() const { return run_of_disk().network().disks().used(number_); }

void set_wall_clock(const host& of, std::chrono::nanoseconds offset, double drift) {
    if (!(drift > -1)) throw std::invalid_argument("weft::sim::set_wall_clock: the drift must be more than -1");
    controlled_run& run = run_of_disk();
    run.network().computers.set_clock(detail::host_access::number(of), {run.now_ns, offset.count(), drift});
    run.note("the clock of " + of.name() + " is set");
}

}  // namespace weft::sim
