// classic.h: the three classic scheduler programs: prime sieve, thread ring, skynet.
#pragma once

#include <utility>
#include <vector>

#include "measurement.h"

namespace bench {

struct primes {
    int64_t count = 0;
    int64_t last = 0;

    bool operator==(const primes& other) const { return count == other.count && last == other.last; }
};

// The expected answer, by arithmetic.
inline primes primes_up_to(int64_t limit) {
    std::vector<bool> composite(static_cast<size_t>(limit) + 1);
    primes result;
    for (int64_t i = 2; i <= limit; ++i) {
        if (composite[static_cast<size_t>(i)]) continue;
        result = {result.count + 1, i};
        for (int64_t j = i * i; j <= limit; j += i) composite[static_cast<size_t>(j)] = true;
    }
    return result;
}

// A generator sends 2..limit down a growing chain of filters over unbuffered channels, one per
// prime. Its close ends the chain.
template <typename Runtime>
primes sieve(int64_t limit) {
    using channel = typename Runtime::template unbuffered<int64_t>;
    typename Runtime::wait_group done;
    done.add(2);  // The generator and this function: the count must not reach zero early.
    channel source = Runtime::template make_unbuffered<int64_t>();
    Runtime::go([&done, limit, source]() mutable {
        for (int64_t i = 2; i <= limit; ++i) source.send(i);
        source.close();
        done.done();
    });

    primes found;
    int64_t prime = 0;
    while (source.recv(prime)) {
        found = {found.count + 1, prime};
        channel filtered = Runtime::template make_unbuffered<int64_t>();
        done.add(1);
        Runtime::go([&done, prime, in = source, out = filtered]() mutable {
            int64_t candidate = 0;
            while (in.recv(candidate)) {
                if (candidate % prime != 0) out.send(candidate);
            }
            out.close();
            done.done();
        });
        source = std::move(filtered);
    }
    done.done();
    done.wait();
    return found;
}

// N is the largest number sieved; 17389 is the 2000th prime.
template <typename Runtime>
measurement run_sieve(const run_arguments& arguments) {
    const int64_t warm_up = arguments.n / 10 + 10;
    check(sieve<Runtime>(warm_up) == primes_up_to(warm_up), "sieve: the primes of the warm-up");

    const int64_t begin = now_ns();
    const primes found = sieve<Runtime>(arguments.n);
    const int64_t end = now_ns();
    check(found == primes_up_to(arguments.n), "sieve: count and last prime");

    measurement result;
    result.add("ms", static_cast<double>(end - begin) / 1e6);
    return result;
}

// K tasks in a ring, each with an unbuffered channel; a token makes N hops. The task that receives
// zero closes the next channel; the close goes round once and ends all tasks. Returns that task's
// number, from 0.
template <typename Runtime>
int64_t thread_ring(int64_t tasks, int64_t hops) {
    using channel = typename Runtime::template unbuffered<int64_t>;
    std::vector<channel> channels;
    channels.reserve(static_cast<size_t>(tasks));
    for (int64_t i = 0; i < tasks; ++i) channels.push_back(Runtime::template make_unbuffered<int64_t>());

    int64_t winner = -1;
    typename Runtime::wait_group done;
    done.add(tasks);
    for (int64_t i = 0; i < tasks; ++i) {
        Runtime::go([&, i] {
            channel& in = channels[static_cast<size_t>(i)];
            channel& out = channels[static_cast<size_t>((i + 1) % tasks)];
            int64_t token = 0;
            while (in.recv(token)) {
                if (token == 0) {
                    winner = i;
                    break;
                }
                out.send(token - 1);
            }
            out.close();
            done.done();
        });
    }
    channels[0].send(hops);
    done.wait();
    return winner;
}

template <typename Runtime>
measurement run_ring(const run_arguments& arguments) {
    const int64_t tasks = arguments.k;
    const int64_t warm_up = arguments.n / 10;
    check(thread_ring<Runtime>(tasks, warm_up) == warm_up % tasks, "ring: the winner of the warm-up");

    const int64_t begin = now_ns();
    const int64_t winner = thread_ring<Runtime>(tasks, arguments.n);
    const int64_t end = now_ns();
    check(winner == arguments.n % tasks, "ring: the winner");

    measurement result;
    result.add_per_op("ns_per_op", end - begin, arguments.n);
    return result;
}

// One node of the tree: sends the sum of its leaves' numbers to its parent.
template <typename Runtime>
void skynet(typename Runtime::template unbuffered<int64_t> parent, int64_t number, int64_t leaves) {
    constexpr int64_t fan_out = 10;
    if (leaves == 1) {
        parent.send(number);
        return;
    }
    auto results = Runtime::template make_unbuffered<int64_t>();
    const int64_t share = leaves / fan_out;
    for (int64_t i = 0; i < fan_out; ++i) {
        Runtime::go_child([results, first = number + i * share, share] { skynet<Runtime>(results, first, share); });
    }
    int64_t sum = 0;
    for (int64_t i = 0; i < fan_out; ++i) {
        int64_t value = 0;
        check(results.recv(value), "skynet: a result from every child");
        sum += value;
    }
    parent.send(sum);
}

// N leaves, a power of ten. Twice, the first time cold.
template <typename Runtime>
measurement run_skynet(const run_arguments& arguments) {
    measurement result;
    for (const char* metric : {"cold_ms", "ms"}) {
        auto root = Runtime::template make_unbuffered<int64_t>();
        const int64_t begin = now_ns();
        Runtime::go_child([&] { skynet<Runtime>(root, 0, arguments.n); });
        int64_t sum = 0;
        check(root.recv(sum), "skynet: a result from the root");
        const int64_t end = now_ns();
        check(sum == arguments.n * (arguments.n - 1) / 2, "skynet: the sum of the leaves");
        result.add(metric, static_cast<double>(end - begin) / 1e6);
    }
    result.add("peak_mib", static_cast<double>(read_memory().peak_bytes) / (1 << 20));
    return result;
}

}  // namespace bench
