// raft_test.cc: the nodes of examples/raft, each on its own host of a simulated network, where
// hosts crash, partitions come and go, and messages are late or lost.
//
// Checked are the properties of Raft (election safety, log matching, leader completeness, state
// machine safety), that the register is linearizable, and that the cluster works again when the
// faults end. The last tests break one rule of the algorithm each, which the simulation must find.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/sim/network.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

#include "../../examples/raft/client.h"
#include "../../examples/raft/node.h"
#include "linearizable.h"
#include "support/scale.h"

namespace raft {
namespace {

namespace sim = weft::sim;
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using clock = std::chrono::steady_clock;

struct plan {
    unsigned nodes = 3;
    unsigned clients = 4;
    unsigned operations = 12;  // of each client
    milliseconds disturbed = 15s;
    unsigned writes_per_crash = 30;  // on average; of a disk
    rules all{};
    bool forgets_votes = false;  // the disk keeps terms only
    bool writes_late = false;    // the disk says that data are safe before they are
};

// Zero or more, below n.
milliseconds some_ms(unsigned n) { return milliseconds(sim::choose(n)); }

// The hosts, their disks, and what has been seen of them.
class cluster {
public:
    explicit cluster(const plan& p) : plan_(p), net_({.latency = 1ms, .jitter = 10ms, .loss = 0.01}) {
        for (unsigned i = 0; i < p.nodes; ++i) {
            hosts_.push_back({net_.add_host("node" + std::to_string(i))});
            addresses_.push_back(hosts_.back().self.address().with_port(7000));
        }
    }

    // Runs the plan. Throws std::runtime_error for the first property that does not hold.
    void run() {
        for (unsigned i = 0; i < plan_.nodes; ++i) start(i);
        weft::wait_group repairs;
        repairs.go([&] {
            for (const unsigned i : crashed_) {
                repairs.go([this, i] {
                    weft::sleep_for(sim::choose(3) == 0 ? some_ms(50) : some_ms(4000));
                    start(i);
                });
            }
        });
        weft::wait_group clients;
        for (unsigned i = 0; i < plan_.clients; ++i) clients.go([this, i] { use(i + 1); });
        disturb();
        crashed_.close();
        repairs.wait();
        clients.wait();
        check_progress();
        stop();
        check_logs();
        check_history();
        if (!wrong_.empty()) throw std::runtime_error(wrong_);
    }

private:
    struct host {
        sim::host self;
        unsigned life = 0;  // counts starts
        saved_state disk{};
        saved_state cache{};  // of the disk: not safe
    };

    // The disk of a host, as one run of its node sees it. After a crash of the host, it is that of
    // the next run.
    class disk final : public storage {
    public:
        disk(cluster& all, unsigned id) : all_(all), id_(id), life_(all.hosts_[id].life) {}

        saved_state load() override { return self().cache = self().disk; }

        // It takes a while, in which the host may crash; a crash before or after is likely, because
        // that is where nodes forget.
        void save(const saved_state& s, std::size_t /*from*/) override {
            weft::throw_if_cancelled();
            weft::sleep_for(some_ms(3));
            const unsigned crash = all_.may_crash_ ? sim::choose(2 * all_.plan_.writes_per_crash) : 2;
            if (crash == 0) all_.crash(id_);
            if (life_ != self().life || !self().self.is_up()) throw weft::cancelled();
            self().cache = s;
            if (all_.plan_.forgets_votes) self().cache.vote = no_node;
            if (!all_.plan_.writes_late || sim::choose(4) == 0) self().disk = self().cache;
            if (crash == 1) all_.crash(id_);
            weft::throw_if_cancelled();
        }

    private:
        host& self() { return all_.hosts_[id_]; }

        cluster& all_;
        const unsigned id_;
        const unsigned life_;
    };

    void start(unsigned id) {
        host& h = hosts_[id];
        if (h.life++ != 0) h.self.restart();
        running_.add();
        h.self.go([this, id, &h, life = h.life] {
            try {
                disk d(*this, id);
                node(settings_of(id), d).run(weft::net::tcp_listener(addresses_[id]));
            } catch (const weft::cancelled&) {
            } catch (const std::exception& e) {
                if (h.life == life && h.self.is_up()) note(std::string("a node has ended: ") + e.what());
            }
            running_.done();
        });
    }

    settings settings_of(unsigned id) {
        settings how{.id = id, .nodes = addresses_, .heartbeat = 100ms, .election = 400ms, .entries_at_once = 1};
        how.all = plan_.all;
        how.random_below = [this, id](uint32_t n) { return (sim::choose(n) + id * n / plan_.nodes) % n; };
        const auto runs = [this, id, life = hosts_[id].life] { return hosts_[id].life == life; };
        how.on_lead = [this, id, runs](uint64_t term) {
            if (runs()) leads(id, term);
        };
        how.on_commit = [this, id, runs](std::size_t index, const entry& e) {
            if (runs()) commits(id, index, e);
        };
        return how;
    }

    void crash(unsigned id) {
        if (!hosts_[id].self.is_up()) return;
        hosts_[id].self.crash();
        crashed_.send(id);  // there is room
    }

    // The faults, one after the other.
    void disturb() {
        const clock::time_point end = clock::now() + plan_.disturbed;
        while (clock::now() < end && wrong_.empty()) {
            weft::sleep_for(100ms + some_ms(1000));
            const unsigned victim = sim::choose(2) == 0 ? leader_ : sim::choose(plan_.nodes);
            const unsigned what = sim::choose(6);
            if (what == 0) crash(victim);
            for (unsigned i = 0; i < plan_.nodes; ++i) {
                if (i == victim) continue;
                if (what == 1 || (what == 2 && sim::choose(2) == 0))
                    net_.partition(hosts_[victim].self, hosts_[i].self);
                if (what == 3) net_.partition_one_way(hosts_[i].self, hosts_[victim].self);
            }
            if (what > 3) net_.heal();
        }
        net_.heal();
        may_crash_ = false;
    }

    // A client, which writes values that are all different.
    void use(unsigned id) {
        client c(addresses_, id, 500ms);
        for (unsigned n = 0; n < plan_.operations && wrong_.empty(); ++n) {
            weft::sleep_for(some_ms(1500));
            const std::size_t at = history_.size();
            history_.push_back({.writes = sim::choose(2) == 0, .begin = ++now_});
            const bool writes = history_[at].writes;
            std::string value = writes ? std::to_string(id) + "-" + std::to_string(n) : "";
            history_[at].value = value;
            try {
                weft::with_timeout(5s, [&] {
                    if (writes)
                        c.put("key", value);
                    else
                        value = c.get("key");
                });
                history_[at].value = value;
                history_[at].end = ++now_;
            } catch (const weft::timed_out&) {}
        }
    }

    void stop() {
        for (const host& h : hosts_) h.self.crash();
        running_.wait();
    }

    // ---- The properties.

    void note(const std::string& what) {
        if (wrong_.empty()) wrong_ = what;
    }

    void leads(unsigned id, uint64_t term) {
        leader_ = id;
        if (!leaders_.try_emplace(term, id).second) note("term " + std::to_string(term) + " has two leaders");
        if (leaders_.rbegin()->first != term) return;  // it does not know yet that it has been replaced
        const std::vector<entry>& log = hosts_[id].cache.log;
        if (log.size() < committed_.size() || !std::equal(committed_.begin(), committed_.end(), log.begin()))
            note("the leader of term " + std::to_string(term) + " lacks a committed entry");
    }

    void commits(unsigned id, std::size_t index, const entry& e) {
        if (index == committed_.size()) committed_.push_back(e);
        if (committed_[index] != e)
            note("node " + std::to_string(id) + " commits another entry at " + std::to_string(index));
    }

    void check_progress() {
        if (!wrong_.empty()) return;
        try {
            weft::with_timeout(60s, [&] { client(addresses_, 100, 500ms).put("other", "value"); });
        } catch (const weft::timed_out&) {
            note("no progress for a minute without faults");
        }
    }

    void check_logs() {
        for (const host& a : hosts_) {
            for (const host& b : hosts_) {
                const std::size_t size = std::min(a.disk.log.size(), b.disk.log.size());
                bool equal = true;
                for (std::size_t i = 0; i < size; ++i) {
                    equal &= a.disk.log[i] == b.disk.log[i];
                    if (!equal && a.disk.log[i].term == b.disk.log[i].term) note("two logs do not match");
                }
            }
        }
    }

    void check_history() {
        std::vector<operation> all;
        for (const operation& o : history_)
            if (o.writes || o.end != operation::unknown) all.push_back(o);
        if (!linearizability::holds(all)) note("the register is not linearizable");
    }

    const plan plan_;
    const sim::network net_;
    std::vector<host> hosts_;
    std::vector<weft::net::endpoint> addresses_;
    weft::chan<unsigned> crashed_{100};
    weft::wait_group running_;
    bool may_crash_ = true;
    unsigned leader_ = 0;  // the last one
    std::map<uint64_t, unsigned> leaders_;
    std::vector<entry> committed_{entry{}};
    std::vector<operation> history_;
    uint64_t now_ = 0;  // counts begins and ends of operations
    std::string wrong_;
};

sim::report explore(const plan& p, uint64_t schedules, milliseconds* simulated = nullptr) {
    return sim::explore({.schedules = schedules, .before_operations = false, .shrink = false}, [&] {
        const clock::time_point begin = clock::now();
        cluster(p).run();
        if (simulated != nullptr) *simulated += std::chrono::duration_cast<milliseconds>(clock::now() - begin);
    });
}

// What a simulation costs: it prints the rates.
TEST(Raft, AMinuteTakesMilliseconds) {
    const auto schedules = static_cast<unsigned>(weft::test::scaled(20));
    milliseconds simulated{0};
    const clock::time_point begin = clock::now();
    const sim::report r = explore({.disturbed = 60s}, schedules, &simulated);
    const double seconds = std::chrono::duration<double>(clock::now() - begin).count();
    EXPECT_EQ(r.result, sim::verdict::passed) << r.text();
    EXPECT_GE(simulated, schedules * 60s);
    std::printf("a schedule: %.0f simulated seconds, %.0f steps, %.1f ms; %.0f simulated seconds per second\n",
                std::chrono::duration<double>(simulated).count() / schedules, static_cast<double>(r.steps) / schedules,
                1000 * seconds / schedules, std::chrono::duration<double>(simulated).count() / seconds);
}

TEST(Raft, ThreeNodesKeepTheirPromises) {
    const sim::report r = explore({}, static_cast<unsigned>(weft::test::scaled(100)));
    EXPECT_EQ(r.result, sim::verdict::passed) << r.text();
}

TEST(Raft, FiveNodesKeepTheirPromises) {
    const sim::report r = explore({.nodes = 5}, static_cast<unsigned>(weft::test::scaled(50)));
    EXPECT_EQ(r.result, sim::verdict::passed) << r.text();
}

// ---- Nodes that break one rule.

void is_found(const plan& p, uint64_t schedules) {
    if (weft::test::scale() > 1) GTEST_SKIP() << "takes minutes here";
    const sim::report r = explore(p, schedules);
    EXPECT_EQ(r.result, sim::verdict::failed) << r.text();
    std::printf("found in schedule %llu: %s\n", static_cast<unsigned long long>(r.schedules), r.reason.c_str());
}

TEST(BrokenRaft, VotesForAnyLogAreFound) { is_found({.all = {.compares_logs = false}}, 1000); }

TEST(BrokenRaft, EntriesOfEarlierTermsThatAreCountedAreFound) {
    is_found({.clients = 3, .writes_per_crash = 5, .all = {.counts_own_term = false}}, 5000);
}

TEST(BrokenRaft, UnconfirmedReadsAreFound) { is_found({.all = {.confirms_reads = false}}, 1000); }

TEST(BrokenRaft, OldLeadersThatAreFollowedAreFound) { is_found({.all = {.refuses_old_terms = false}}, 1000); }

TEST(BrokenRaft, RepeatedWritesAreFound) { is_found({.all = {.recognizes_repeats = false}}, 1000); }

TEST(BrokenRaft, ForgottenVotesAreFound) {
    is_found({.clients = 3, .writes_per_crash = 5, .forgets_votes = true}, 5000);
}

TEST(BrokenRaft, LateWritesAreFound) { is_found({.writes_late = true}, 1000); }

}  // namespace
}  // namespace raft
