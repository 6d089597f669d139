// classics_test.cc: twenty mistakes of textbooks, five of them between two hosts. The simulation
// must find each, without a hint, and must pass its correction.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include <weft/net/resolve.h>
#include <weft/net/tcp.h>
#include <weft/net/udp.h>
#include <weft/sim/faults.h>
#include <weft/sim/network.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

#include "sim/check.h"

namespace weft {
namespace {

using test::check;

using namespace std::chrono_literals;
using sim::verdict;

// An atomic variable whose operations are points of preemption.
template <typename T>
class stepped {
public:
    explicit stepped(T value) : value_(value) {}

    T load() const {
        checkpoint();
        return value_.load();
    }

    void store(T value) {
        checkpoint();
        value_.store(value);
    }

    void add(T value) {
        checkpoint();
        value_.fetch_add(value);
    }

    bool replace(T& expected, T value) {
        checkpoint();
        return value_.compare_exchange_strong(expected, value);
    }

private:
    std::atomic<T> value_;
};

// ---- Memory.

void lost_update(bool fixed) {
    stepped<int> count(0);
    wait_group all;
    for (int i = 0; i < 2; ++i) {
        all.go([&] {
            if (fixed) {
                count.add(1);
            } else {
                count.store(count.load() + 1);
            }
        });
    }
    all.wait();
    check(count.load() == 2, "an addition was lost");
}

void torn_publish(bool fixed) {
    stepped<int> data(0);
    stepped<bool> ready(false);
    wait_group both;
    both.go([&] {
        if (fixed) data.store(1);
        ready.store(true);
        if (!fixed) data.store(1);
    });
    both.go([&] {
        if (ready.load()) check(data.load() == 1, "read before it was written");
    });
    both.wait();
}

void double_checked_lock(bool fixed) {
    stepped<bool> is_made(false);
    stepped<int> made(0);
    mutex m;
    const auto get = [&] {
        if (is_made.load()) return made.load();
        const std::lock_guard held(m);
        if (!is_made.load()) {
            if (!fixed) is_made.store(true);
            made.store(1);
            if (fixed) is_made.store(true);
        }
        return made.load();
    };
    wait_group both;
    for (int i = 0; i < 2; ++i) {
        both.go([&] { check(get() == 1, "used before it was made"); });
    }
    both.wait();
}

// A stack of the nodes 1 to 3 without locks. With a counter beside its first node, an exchange
// fails if other exchanges came between.
class lock_free_stack {
public:
    explicit lock_free_stack(bool fixed) : fixed_(fixed) {
        for (const unsigned node : {3U, 2U, 1U}) push(node);
    }

    // 0: empty
    unsigned pop() {
        for (;;) {
            uint64_t top = top_.load();
            const unsigned node = node_of(top);
            if (node == 0) return 0;
            const unsigned next = next_[node].load();
            if (top_.replace(top, after(top, next))) return node;
        }
    }

    void push(unsigned node) {
        for (;;) {
            uint64_t top = top_.load();
            next_[node].store(node_of(top));
            if (top_.replace(top, after(top, node))) return;
        }
    }

private:
    static unsigned node_of(uint64_t word) { return static_cast<unsigned>(word & 0xff); }

    [[nodiscard]] uint64_t after(uint64_t top, unsigned node) const {
        return fixed_ ? ((top >> 8) + 1) << 8 | node : node;
    }

    const bool fixed_;
    stepped<uint64_t> top_{0};
    std::array<stepped<unsigned>, 4> next_{stepped<unsigned>(0), stepped<unsigned>(0), stepped<unsigned>(0),
                                           stepped<unsigned>(0)};
};

void aba(bool fixed) {
    lock_free_stack s(fixed);
    std::array<int, 4> owners{};
    const auto take = [&] {
        const unsigned node = s.pop();
        if (node != 0) check(++owners[node] == 1, "a node was taken twice");
        return node;
    };
    const auto give = [&](unsigned node) {
        if (node == 0) return;
        --owners[node];
        s.push(node);
    };
    wait_group both;
    both.go([&] { take(); });
    both.go([&] {
        const unsigned first = take();
        take();
        give(first);
        take();
    });
    both.wait();
}

void check_then_insert(bool fixed) {
    std::map<int, int> made;
    mutex m;
    int calls = 0;
    const auto get = [&](int key) {
        std::unique_lock held(m);
        if (const auto found = made.find(key); found != made.end()) return;
        if (!fixed) {
            held.unlock();
            held.lock();
        }
        ++calls;
        made[key] = 1;
    };
    wait_group both;
    for (int i = 0; i < 2; ++i) {
        both.go([&] { get(7); });
    }
    both.wait();
    check(calls == 1, "made twice");
}

// ---- Waiting.

void lost_wakeup(bool fixed) {
    stepped<bool> done(false);
    mutex m;
    condition_variable changed;
    wait_group one;
    one.go([&] {
        if (fixed) {
            std::unique_lock held(m);
            while (!done.load()) changed.wait(held);
        } else if (!done.load()) {
            std::unique_lock held(m);
            changed.wait(held);
        }
    });
    {
        const std::lock_guard held(m);
        done.store(true);
        changed.notify_all();
    }
    one.wait();
}

void if_instead_of_while(bool fixed) {
    std::deque<int> queue;
    mutex m;
    condition_variable filled;
    wait_group all;
    for (int i = 0; i < 2; ++i) {
        all.go([&] {
            std::unique_lock held(m);
            if (fixed) {
                while (queue.empty()) filled.wait(held);
            } else if (queue.empty()) {
                filled.wait(held);
            }
            check(!queue.empty(), "woken for nothing");
            queue.pop_front();
        });
    }
    for (int i = 0; i < 2; ++i) {
        const std::lock_guard held(m);
        queue.push_back(i);
        filled.notify_all();
    }
    all.wait();
}

// One condition for two reasons: notify_one wakes the wrong one.
void notified_the_wrong_one(bool fixed) {
    int items = 0;
    mutex m;
    condition_variable changed;
    const auto notify = [&] { fixed ? changed.notify_all() : changed.notify_one(); };
    wait_group all;
    for (int i = 0; i < 2; ++i) {
        all.go([&] {
            for (int n = 0; n < 2; ++n) {
                std::unique_lock held(m);
                while (items == 1) changed.wait(held);
                ++items;
                notify();
            }
        });
        all.go([&] {
            for (int n = 0; n < 2; ++n) {
                std::unique_lock held(m);
                while (items == 0) changed.wait(held);
                --items;
                notify();
            }
        });
    }
    all.wait();
}

// A barrier that is used again before all have left.
void barrier_without_phases(bool fixed) {
    int arrived = 0;
    int phase = 0;
    mutex m;
    condition_variable all_here;
    const auto meet = [&] {
        std::unique_lock held(m);
        const int mine = phase;
        if (++arrived == 2) {
            arrived = 0;
            ++phase;
            all_here.notify_all();
            return;
        }
        while (fixed ? phase == mine : arrived != 0) all_here.wait(held);
    };
    wait_group both;
    for (int i = 0; i < 2; ++i) {
        both.go([&] {
            meet();
            meet();
        });
    }
    both.wait();
}

void add_inside_the_started(bool fixed) {
    wait_group all;
    stepped<int> done(0);
    for (int i = 0; i < 2; ++i) {
        if (fixed) all.add(1);
        go([&, fixed] {
            if (!fixed) all.add(1);
            done.add(1);
            all.done();
        });
    }
    all.wait();
    check(done.load() == 2, "did not wait for all");
    yield();
}

// ---- Locks.

void inverted_locks(bool fixed) {
    mutex a;
    mutex b;
    wait_group both;
    both.go([&] {
        const std::lock_guard first(a);
        const std::lock_guard second(b);
    });
    both.go([&] {
        const std::lock_guard first(fixed ? a : b);
        const std::lock_guard second(fixed ? b : a);
    });
    both.wait();
}

// Two that hold one permit each wait for their second.
void hold_and_wait(bool fixed) {
    counting_semaphore<2> permits(2);
    mutex one_at_a_time;
    wait_group both;
    for (int i = 0; i < 2; ++i) {
        both.go([&] {
            if (fixed) one_at_a_time.lock();
            permits.acquire();
            permits.acquire();
            if (fixed) one_at_a_time.unlock();
            permits.release(2);
        });
    }
    both.wait();
}

// ---- Channels and time.

void closed_twice(bool fixed) {
    stepped<int> working(2);
    int closes = 0;
    wait_group both;
    for (int i = 0; i < 2; ++i) {
        both.go([&] {
            if (fixed) {
                int left = working.load();
                while (!working.replace(left, left - 1)) {}
                if (left == 1) ++closes;
            } else {
                working.add(-1);
                if (working.load() == 0) ++closes;
            }
        });
    }
    both.wait();
    check(closes == 1, "closed twice");
}

// A reply after the request has given up waits for ever.
void reply_after_timeout(bool fixed) {
    const chan<int> reply(fixed ? 1 : 0);
    go([reply] {
        sleep_for(10ms);
        reply.send(1);
    });
    static_cast<void>(reply.recv_for(10ms));
}

void missed_cancel(bool fixed) {
    stepped<bool> cancelled(false);
    const chan<int> wake(fixed ? 1 : 0);
    wait_group one;
    one.go([&] {
        while (!cancelled.load()) static_cast<void>(wake.recv());
    });
    cancelled.store(true);
    static_cast<void>(wake.try_send(1));  // without a buffer it is lost unless the other waits
    one.wait();
}

// ---- Two hosts.

// Whether a byte comes back within a second from a server to which request(stream) writes.
template <typename F>
bool answers(const char* server, F request) {
    return with_timeout(1s, [&] {
        try {
            net::tcp_stream s = net::dial(server);
            request(s);
            char answer = 0;
            return s.read({&answer, 1}) == 1;
        } catch (const std::system_error&) {
            return false;
        } catch (const timed_out&) {
            return false;
        }
    });
}

// A request that is repeated because its answer did not arrive.
void repeated_request(bool fixed) {
    const sim::network net({.latency = 20ms});
    const sim::host client = net.add_host("client");
    net::tcp_listener l = net.listen("server:1");
    std::map<char, bool> seen;
    int sum = 0;
    wait_group server;
    server.go([&] {
        for (std::error_code ec;;) {
            net::tcp_stream s = l.accept(ec);
            if (ec) return;
            char number = 0;
            if (s.read({&number, 1}, ec) != 1) continue;
            if (!fixed || !seen[number]) sum += 10;
            seen[number] = true;
            s.write_all("k", ec);
        }
    });
    sim::run_faults(sim::random_faults({"client", "server"}, {.span = 10s, .most = 2, .crashes = false}));
    event sent;
    client.go([&] {
        while (!answers("server:1", [](net::tcp_stream& s) { s.write_all("1"); })) {}
        sent.set();
    });
    sent.wait();
    l.close();
    server.wait();
    check(sum == 10, "added twice");
}

// A lease that its holder uses after its end, because it counts from the answer.
void lease_counted_from_the_answer(bool fixed) {
    const sim::network net({.latency = 200ms});
    net::tcp_listener l = net.listen("locks:1");
    using clock = std::chrono::steady_clock;
    constexpr auto length = 2s;
    clock::time_point free_at{};
    std::atomic<int> holders = 0;
    wait_group server;
    server.go([&] {
        for (std::error_code ec;;) {
            net::tcp_stream s = l.accept(ec);
            if (ec) return;
            const clock::time_point now = clock::now();
            const char granted = now >= free_at ? 'y' : 'n';
            if (granted == 'y') free_at = now + length;
            s.write_all({&granted, 1}, ec);
        }
    });
    net.add_host("a");
    net.add_host("b");
    sim::run_faults(sim::random_faults({"a", "locks"}, {.span = 5s, .most = 1, .crashes = false}));
    wait_group clients;
    for (const char* name : {"a", "b"}) {
        clients.add(1);
        net.find(name).go([&] {
            for (int i = 0; i < 8; ++i) {
                const clock::time_point asked = clock::now();
                char granted = 'n';
                try {
                    net::tcp_stream s = net::dial("locks:1");
                    static_cast<void>(s.read({&granted, 1}));
                } catch (const std::system_error&) {}
                const clock::time_point until = (fixed ? asked : clock::now()) + length;
                if (granted == 'y' && clock::now() < until) {
                    check(++holders == 1, "two hold the lock");
                    sleep_until(until - 100ms);
                    --holders;
                } else {
                    sleep_for(500ms);
                }
            }
            clients.done();
        });
    }
    clients.wait();
    l.close();
    server.wait();
}

// A write that is acknowledged before the other copy has it.
void acknowledged_too_early(bool fixed) {
    const sim::network net({.latency = 20ms});
    net::tcp_listener copy = net.listen("copy:1");
    char on_copy = 0;
    wait_group servers;
    servers.go([&] {
        for (std::error_code ec;;) {
            net::tcp_stream s = copy.accept(ec);
            if (ec) return;
            char value = 0;
            if (s.read({&value, 1}, ec) == 1) on_copy = value;
            s.write_all("k", ec);
        }
    });
    const sim::host first = net.add_host("first");
    sim::run_faults(sim::random_faults({"first", "copy"}, {.span = 10s, .most = 1, .crashes = false}));
    bool acknowledged = false;
    event over;
    first.go([&] {
        sleep_for(std::chrono::seconds(sim::choose(3)));
        if (fixed) {
            acknowledged = answers("copy:1", [](net::tcp_stream& s) { s.write_all("v"); });
        } else {
            std::error_code ec;
            net::tcp_stream s = net::dial("copy:1", ec);
            if (!ec) s.write_all("v", ec);
            acknowledged = !ec;
        }
        over.set();
    });
    over.wait();
    sleep_for(1s);
    const bool has_it = on_copy == 'v';  // the first host is gone now, and clients read from the copy
    copy.close();
    servers.wait();
    check(!acknowledged || has_it, "an acknowledged write is lost");
}

// The rest of a message from a connection that broke is put before the next one.
void parser_outlives_its_connection(bool fixed) {
    const sim::network net({.latency = 20ms});
    const sim::host client = net.add_host("client");
    net::tcp_listener l = net.listen("server:1");
    std::string got;
    wait_group server;
    server.go([&] {
        std::string begun;
        for (std::error_code ec;;) {
            net::tcp_stream s = l.accept(ec);
            if (ec) return;
            if (fixed) begun.clear();
            s.set_read_deadline(std::chrono::steady_clock::now() + 1s);
            char part[16];
            while (begun.size() < 8) {
                const std::size_t n = s.read_some(part, ec);
                if (n == 0) break;
                begun.append(part, n);
            }
            if (begun.size() < 8) continue;
            if (got.empty()) got = begun.substr(0, 8);
            begun.erase(0, 8);
            s.write_all("k", ec);
        }
    });
    sim::run_faults(sim::random_faults({"client", "server"}, {.span = 10s, .most = 2, .crashes = false}));
    event sent;
    client.go([&] {
        while (!answers("server:1", [](net::tcp_stream& s) {
            s.write_all("abcd");
            sleep_for(300ms);
            s.write_all("efgh");
        })) {
            sleep_for(1s);
        }
        sent.set();
    });
    sent.wait();
    l.close();
    server.wait();
    check(got == "abcdefgh", "two messages were mixed");
}

// A datagram that was overtaken sets an old value.
void overtaken_datagram(bool fixed) {
    const sim::network net({.latency = 10ms, .jitter = 50ms});
    const sim::host sender = net.add_host("sender");

    struct state {
        int number;
        int value;
    };

    net::udp_socket to(net::endpoint("0.0.0.0:7"));
    sender.go([at = net.local().address().with_port(7)] {
        net::udp_socket from(net::endpoint("0.0.0.0:0"));
        for (int i = 1; i <= 2; ++i) {
            const state s{i, 10 * i};
            from.send_to({&s, sizeof(s)}, at);
            sleep_for(20ms);
        }
    });
    state newest{0, 0};
    for (int i = 0; i < 2; ++i) {
        state s{};
        static_cast<void>(to.receive({&s, sizeof(s)}));
        if (!fixed || s.number > newest.number) newest = s;
    }
    check(newest.value == 20, "an old value is the last");
}

struct classic {
    const char* name;
    void (*run)(bool fixed);
};

constexpr classic classics[] = {
    {"lost update", &lost_update},
    {"torn publish", &torn_publish},
    {"double-checked lock", &double_checked_lock},
    {"ABA", &aba},
    {"check, then insert", &check_then_insert},
    {"lost wake-up", &lost_wakeup},
    {"if instead of while", &if_instead_of_while},
    {"notified the wrong one", &notified_the_wrong_one},
    {"barrier without phases", &barrier_without_phases},
    {"add inside the started", &add_inside_the_started},
    {"inverted locks", &inverted_locks},
    {"hold and wait", &hold_and_wait},
    {"closed twice", &closed_twice},
    {"reply after a timeout", &reply_after_timeout},
    {"missed cancel", &missed_cancel},
    {"repeated request", &repeated_request},
    {"lease counted from the answer", &lease_counted_from_the_answer},
    {"acknowledged too early", &acknowledged_too_early},
    {"parser outlives its connection", &parser_outlives_its_connection},
    {"overtaken datagram", &overtaken_datagram},
};

class Classics : public ::testing::TestWithParam<classic> {};

TEST_P(Classics, IsFoundAndItsCorrectionPasses) {
    const classic& c = GetParam();
    const auto began = std::chrono::steady_clock::now();
    const sim::report found = sim::explore({.schedules = 20'000}, [&] { c.run(false); });
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    EXPECT_NE(found.result, verdict::passed) << c.name;
    EXPECT_NE(found.result, verdict::uncontrolled) << found.text();
    std::printf("%-32s found in schedule %5llu, %6.1f ms, %zu choices\n", c.name,
                static_cast<unsigned long long>(found.schedules), took.count(), found.choices);
    EXPECT_EQ(sim::replay(found.schedule, {}, [&] { c.run(false); }).result, found.result);
    const sim::report fixed = sim::explore({.schedules = 1000}, [&] { c.run(true); });
    EXPECT_TRUE(fixed) << c.name << ": " << fixed.text();
}

INSTANTIATE_TEST_SUITE_P(Simulated, Classics, ::testing::ValuesIn(classics), [](const auto& tested) {
    std::string name;
    for (const char letter : std::string(tested.param.name)) {
        if (std::isalnum(static_cast<unsigned char>(letter)) != 0) name += letter;
    }
    return name;
});

}  // namespace
}  // namespace weft
