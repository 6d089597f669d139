// faults.cc: see weft/sim/faults.h.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include <weft/sim/disk.h>
#include <weft/sim/faults.h>
#include <weft/sim/sim.h>
#include <weft/time.h>

#include "sched/random.h"
#include "sim/controlled_run.h"

namespace weft::sim {

namespace {

using std::chrono::nanoseconds;

constexpr uint32_t time_steps = 64;          // of the span
constexpr uint32_t clock_steps_ms = 20'000;  // back and forth

[[noreturn]] void refuse_plan(const std::string& why) {
    throw std::invalid_argument("weft::sim::random_faults: " + why);
}

bool needs_two_hosts(fault_kind what) noexcept {
    return what == fault_kind::partition || what == fault_kind::partition_one_way;
}

void do_disk_fault(const host& h, fault_kind what) {
    const disk d(h);
    disk_options how = d.options();
    if (what == fault_kind::disk_full) how.is_full = true;
    if (what == fault_kind::disk_room) how.is_full = false;
    if (what == fault_kind::disk_sync_lies) how.sync_lies = true;
    if (what == fault_kind::disk_sync_honest) how.sync_lies = false;
    d.set(how);
    if (what != fault_kind::disk_sync_fails && what != fault_kind::disk_sync_honest) return;
    simulated_network& net = controlled_run::of_caller()->network();
    net.disks().fail_next_sync(detail::host_access::number(h), what == fault_kind::disk_sync_fails);
}

void do_fault(const network& net, const fault& f, const std::function<void(host)>& restarted) {
    switch (f.what) {
        case fault_kind::partition:
            net.partition(net.find(f.host), net.find(f.other));
            break;
        case fault_kind::partition_one_way:
            net.partition_one_way(net.find(f.host), net.find(f.other));
            break;
        case fault_kind::heal:
            net.heal();
            break;
        case fault_kind::crash:
            net.find(f.host).crash();
            break;
        case fault_kind::restart:
            net.find(f.host).restart();
            if (restarted) restarted(net.find(f.host));
            break;
        case fault_kind::clock_step:
            set_wall_clock(net.find(f.host), f.by);
            break;
        default:
            do_disk_fault(net.find(f.host), f.what);
    }
}

const char* words_of(fault_kind what) noexcept {
    switch (what) {
        case fault_kind::partition:
            return "partition ";
        case fault_kind::partition_one_way:
            return "partition one way ";
        case fault_kind::heal:
            return "heal";
        case fault_kind::crash:
            return "crash ";
        case fault_kind::restart:
            return "restart ";
        case fault_kind::disk_full:
            return "disk is full: ";
        case fault_kind::disk_room:
            return "disk has room: ";
        case fault_kind::disk_sync_fails:
            return "sync fails: ";
        case fault_kind::disk_sync_lies:
            return "syncs lie: ";
        case fault_kind::disk_sync_honest:
            return "syncs hold: ";
        case fault_kind::clock_step:
            return "clock step: ";
    }
    return "?";
}

}  // namespace

fault_plan random_faults(const std::vector<std::string>& hosts, const random_fault_options& how) {
    if (how.span < std::chrono::milliseconds(1)) refuse_plan("the span is " + std::to_string(how.span.count()) + " ns");
    if (how.partitions && hosts.size() < 2) refuse_plan("a partition needs two hosts");
    if (hosts.empty()) refuse_plan("there is no host");
    std::vector<fault_kind> kinds;
    if (how.crashes) kinds.push_back(fault_kind::crash);
    if (how.partitions) kinds.insert(kinds.end(), {fault_kind::partition, fault_kind::partition_one_way});
    if (how.disks) kinds.insert(kinds.end(), {fault_kind::disk_full, fault_kind::disk_sync_fails});
    if (how.clocks) kinds.push_back(fault_kind::clock_step);
    const auto moment = [&](uint32_t step) { return how.span * step / time_steps; };
    const auto one_of = [](std::size_t n) { return weft::detail::random_below(static_cast<uint32_t>(n)); };
    fault_plan plan;
    const auto add = [&plan](fault f) {
        const auto is_before = [](const fault& a, const fault& b) { return a.at < b.at; };
        plan.insert(std::upper_bound(plan.begin(), plan.end(), f, is_before), std::move(f));
    };
    std::vector<std::pair<uint32_t, uint32_t>> down(hosts.size());  // when each host is, in steps
    for (unsigned i = 0; i < how.most && !kinds.empty(); ++i) {
        const uint32_t kind = one_of(kinds.size() + 1);
        if (kind == 0) continue;  // so that leaving out this choice leaves out the fault
        const uint32_t begin = one_of(time_steps - 1);
        const uint32_t end = begin + 1 + one_of(time_steps - 1 - begin);
        fault f{moment(begin), kinds[kind - 1], hosts[one_of(hosts.size())], {}};
        if (f.what == fault_kind::crash) {
            // A host that is down cannot crash, and one that is up cannot be restarted.
            auto& interval =
                down[static_cast<std::size_t>(std::find(hosts.begin(), hosts.end(), f.host) - hosts.begin())];
            if (interval.second != 0) continue;
            interval = {begin, end};
            add({moment(end), fault_kind::restart, f.host, {}});
        } else if (f.what == fault_kind::disk_full) {
            add({moment(end), fault_kind::disk_room, f.host, {}});
        } else if (f.what == fault_kind::disk_sync_fails) {
            add({moment(end), fault_kind::disk_sync_honest, f.host, {}});
        } else if (f.what == fault_kind::clock_step) {
            f.by =
                std::chrono::milliseconds(one_of(clock_steps_ms + 1)) - std::chrono::milliseconds(clock_steps_ms / 2);
        } else if (needs_two_hosts(f.what)) {
            std::size_t other = one_of(hosts.size() - 1);
            if (hosts[other] == f.host) other = hosts.size() - 1;
            f.other = hosts[other];
            add({moment(end), fault_kind::heal, {}, {}});
        }
        add(std::move(f));
    }
    return plan;
}

void run_faults(const fault_plan& plan, std::function<void(host)> restarted, source_location where) {
    const network net;
    for (const fault& f : plan) {
        if (f.what == fault_kind::heal) continue;
        static_cast<void>(net.find(f.host));
        if (needs_two_hosts(f.what)) static_cast<void>(net.find(f.other));
    }
    net.local().go(
        [plan, net, restarted = std::move(restarted)] {
            nanoseconds passed{0};
            for (const fault& f : plan) {
                sleep_for(f.at - passed);
                passed = f.at;
                do_fault(net, f, restarted);
            }
        },
        where);
}

std::string to_text(const fault_plan& plan) {
    std::string text;
    for (const fault& f : plan) {
        text += std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(f.at).count()) +
                " ms: " + words_of(f.what) + f.host;
        if (needs_two_hosts(f.what)) text += (f.what == fault_kind::partition ? " and " : " to ") + f.other;
        if (f.what == fault_kind::clock_step)
            text +=
                " by " + std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(f.by).count()) + " ms";
        text += '\n';
    }
    return text;
}

}  // namespace weft::sim
