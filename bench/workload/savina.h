// savina.h: five benchmarks of actor libraries. An actor is a task with a mailbox: a channel with
// room for all messages that may be pending, so that a send never blocks for long.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <optional>
#include <vector>

#include "measurement.h"
#include "random.h"

namespace bench {

constexpr int64_t mailbox_size = 128;

struct letter {
    int64_t kind = 0;
    int64_t from = 0;
    int64_t value = 0;
};

template <typename Runtime>
using mailbox = typename Runtime::template buffered<letter>;

template <typename Runtime>
mailbox<Runtime> make_mailbox() {
    return Runtime::template make_buffered<letter>(mailbox_size);
}

// Runs work twice, first to warm up, and reports the second run, whole and per N operations.
// work(n) returns its time, without computing the expected result.
template <typename Work>
measurement time_program(const run_arguments& arguments, Work work) {
    work(arguments.n);
    const int64_t elapsed = work(arguments.n);

    measurement result;
    result.add("ms", static_cast<double>(elapsed) / 1e6);
    result.add_per_op("ns_per_op", elapsed, arguments.n);
    return result;
}

// One actor counts N letters and replies with the count.
template <typename Runtime>
measurement run_savina_count(const run_arguments& arguments) {
    enum : int64_t { increment, retrieve };

    return time_program(arguments, [](int64_t letters) {
        const int64_t begin = now_ns();
        auto counter = make_mailbox<Runtime>();
        auto answer = Runtime::template make_unbuffered<int64_t>();
        typename Runtime::wait_group done;
        done.add(1);
        Runtime::go([&] {
            int64_t count = 0;
            for (letter received; counter.recv(received);) {
                if (received.kind == increment) {
                    ++count;
                } else {
                    answer.send(count);
                }
            }
            done.done();
        });
        for (int64_t i = 0; i < letters; ++i) counter.send({.kind = increment});
        counter.send({.kind = retrieve});
        int64_t count = 0;
        check(answer.recv(count) && count == letters, "savina_count: the count");
        counter.close();
        done.wait();
        return now_ns() - begin;
    });
}

// Creates N actors; each computes briefly and ends.
template <typename Runtime>
measurement run_savina_fjcreate(const run_arguments& arguments) {
    constexpr int64_t steps = 40;
    return time_program(arguments, [](int64_t actors) {
        const int64_t begin = now_ns();
        std::atomic<uint64_t> sum{0};
        typename Runtime::wait_group done;
        done.add(actors);
        for (int64_t i = 0; i < actors; ++i) {
            Runtime::go([&sum, &done, i] {
                sum.fetch_add(hash_over(static_cast<uint64_t>(i), steps), std::memory_order_relaxed);
                done.done();
            });
        }
        done.wait();
        const int64_t elapsed = now_ns() - begin;
        uint64_t expected = 0;
        for (int64_t i = 0; i < actors; ++i) expected += hash_over(static_cast<uint64_t>(i), steps);
        check(sum.load() == expected, "savina_fjcreate: what all computed");
        return elapsed;
    });
}

// K actors. Each sends a ping to a random one, and answers pings until its pong comes. N pings in
// total.
template <typename Runtime>
measurement run_savina_big(const run_arguments& arguments) {
    enum : int64_t { ping, pong };

    const int64_t actors = arguments.k;
    check(actors >= 2 && actors < mailbox_size, "savina_big: from 2 to 127 actors");  // a ping from each, and a pong
    return time_program(arguments, [actors](int64_t pings) {
        const int64_t each = pings / actors;
        const int64_t begin = now_ns();
        std::vector<mailbox<Runtime>> boxes;
        for (int64_t i = 0; i < actors; ++i) boxes.push_back(make_mailbox<Runtime>());
        std::atomic<int64_t> answered{0};
        typename Runtime::wait_group played;
        typename Runtime::wait_group done;
        played.add(actors);
        done.add(actors);
        for (int64_t me = 0; me < actors; ++me) {
            Runtime::go([&, me] {
                const auto send_ping = [&boxes, me, actors](int64_t turn) {
                    const int64_t other = random_below(me << 32 | turn, actors - 1);
                    boxes[static_cast<size_t>(other < me ? other : other + 1)].send({ping, me, turn});
                };
                int64_t sent = 0;
                int64_t mine = 0;
                send_ping(sent++);
                for (letter received; boxes[static_cast<size_t>(me)].recv(received);) {
                    if (received.kind == ping) {
                        ++mine;
                        boxes[static_cast<size_t>(received.from)].send({pong, me, received.value});
                        continue;
                    }
                    check(received.value == sent - 1, "savina_big: the answer to the latest ping");
                    if (sent < each) {
                        send_ping(sent++);
                    } else {
                        played.done();
                    }
                }
                answered.fetch_add(mine);
                done.done();
            });
        }
        played.wait();
        for (const auto& box : boxes) box.close();
        done.wait();
        check(answered.load() == each * actors, "savina_big: every ping was answered once");
        return now_ns() - begin;
    });
}

// A manager between K producers and K consumers keeps up to 50 items; producers wait when it is
// full, consumers when it is empty. N items, each with a little work on both sides.
template <typename Runtime>
class bounded_buffer {
public:
    explicit bounded_buffer(int64_t pairs) : pairs_(pairs), manager_(make_mailbox<Runtime>()) {
        for (int64_t i = 0; i < 2 * pairs; ++i) workers_.push_back(Runtime::template make_buffered<letter>(2));
    }

    // The value of item i of producer `me`.
    void produce(int64_t me, int64_t items) {
        for (int64_t i = 0; i < items; ++i) {
            const auto item = static_cast<int64_t>(hash_over(static_cast<uint64_t>(me << 32 | i), steps) & item_mask);
            manager_.send({offer, me, item});
            letter go_on;
            check(worker(me).recv(go_on), "savina_bndbuffer: the manager answers a producer");
        }
        manager_.send({finished, me, 0});
    }

    // Returns the sum of all its items.
    int64_t consume(int64_t me) {
        int64_t sum = 0;
        for (letter item;;) {
            manager_.send({ask, pairs_ + me, 0});
            if (!worker(pairs_ + me).recv(item)) return sum;
            sum += item.value + static_cast<int64_t>(hash_over(static_cast<uint64_t>(item.value), steps) & 1);
        }
    }

    // Until all producers have finished and every consumer asks for more.
    void manage() {
        int64_t producing = pairs_;
        std::deque<int64_t> items;
        std::deque<int64_t> held;      // producers
        std::vector<int64_t> waiting;  // consumers
        letter received;
        while (producing > 0 || !items.empty() || static_cast<int64_t>(waiting.size()) < pairs_) {
            check(manager_.recv(received), "savina_bndbuffer: the manager's mailbox is open");
            if (received.kind == finished) {
                --producing;
            } else if (received.kind == ask) {
                waiting.push_back(received.from);
            } else {
                items.push_back(received.value);
                held.push_back(received.from);
            }
            while (!items.empty() && !waiting.empty()) {
                worker(waiting.back()).send({0, 0, items.front()});
                waiting.pop_back();
                items.pop_front();
            }
            while (!held.empty() && static_cast<int64_t>(items.size()) <= room) {
                worker(held.front()).send({});
                held.pop_front();
            }
        }
        for (const int64_t consumer : waiting) worker(consumer).close();
    }

    // What consume() returns for all items of one producer.
    static int64_t sum_of(int64_t me, int64_t items) {
        int64_t sum = 0;
        for (int64_t i = 0; i < items; ++i) {
            const uint64_t item = hash_over(static_cast<uint64_t>(me << 32 | i), steps) & item_mask;
            sum += static_cast<int64_t>(item + (hash_over(item, steps) & 1));
        }
        return sum;
    }

private:
    enum : int64_t { offer, ask, finished };

    static constexpr int64_t steps = 25;
    static constexpr uint64_t item_mask = 0xffff;
    static constexpr int64_t room = 50;

    auto& worker(int64_t number) { return workers_[static_cast<size_t>(number)]; }

    int64_t pairs_;
    mailbox<Runtime> manager_;
    std::vector<mailbox<Runtime>> workers_;  // producers, then consumers
};

template <typename Runtime>
measurement run_savina_bndbuffer(const run_arguments& arguments) {
    const int64_t pairs = arguments.k;
    check(2 * pairs < mailbox_size, "savina_bndbuffer: at most 63 producers");
    return time_program(arguments, [pairs](int64_t all_items) {
        const int64_t items = all_items / pairs;
        const int64_t begin = now_ns();
        bounded_buffer<Runtime> buffer(pairs);
        std::atomic<int64_t> sum{0};
        typename Runtime::wait_group done;
        done.add(2 * pairs);
        for (int64_t i = 0; i < pairs; ++i) {
            Runtime::go([&, i] {
                buffer.produce(i, items);
                done.done();
            });
            Runtime::go([&, i] {
                sum.fetch_add(buffer.consume(i));
                done.done();
            });
        }
        buffer.manage();
        done.wait();
        const int64_t elapsed = now_ns() - begin;
        int64_t expected = 0;
        for (int64_t i = 0; i < pairs; ++i) expected += buffer.sum_of(i, items);
        check(sum.load() == expected, "savina_bndbuffer: every item was consumed once");
        return elapsed;
    });
}

// K accounts; N transfers from one to a later one, 64 pending at a time. The payer asks the payee
// and waits for the answer before it reads its mailbox again.
template <typename Runtime>
measurement run_savina_banking(const run_arguments& arguments) {
    enum : int64_t { transfer, deposit };

    constexpr int64_t under_way = 64;
    const int64_t accounts = arguments.k;
    check(accounts >= 2, "savina_banking needs two accounts");
    return time_program(arguments, [accounts](int64_t transfers) {
        struct account {
            mailbox<Runtime> box = make_mailbox<Runtime>();
            mailbox<Runtime> answer = Runtime::template make_buffered<letter>(2);
            int64_t balance = 0;
        };

        const int64_t begin = now_ns();
        std::vector<account> bank(static_cast<size_t>(accounts));
        auto teller = make_mailbox<Runtime>();
        typename Runtime::wait_group done;
        done.add(accounts);
        for (int64_t me = 0; me < accounts; ++me) {
            Runtime::go([&, me] {
                account& mine = bank[static_cast<size_t>(me)];
                for (letter received; mine.box.recv(received);) {
                    if (received.kind == deposit) {
                        mine.balance += received.value;
                        bank[static_cast<size_t>(received.from)].answer.send({});
                        continue;
                    }
                    mine.balance -= received.value;
                    letter paid;
                    bank[static_cast<size_t>(received.from)].box.send({deposit, me, received.value});
                    check(mine.answer.recv(paid), "savina_banking: the payee answers");
                    teller.send({});
                }
                done.done();
            });
        }

        std::vector<int64_t> expected(static_cast<size_t>(accounts));
        letter completed;
        for (int64_t i = 0; i < transfers + under_way; ++i) {
            if (i >= under_way) check(teller.recv(completed), "savina_banking: a transfer is completed");
            if (i >= transfers) continue;
            const int64_t payer = random_below(2 * i, accounts - 1);
            const int64_t payee = payer + 1 + random_below(2 * i + 1, accounts - payer - 1);
            const int64_t amount = i % 100;
            expected[static_cast<size_t>(payer)] -= amount;
            expected[static_cast<size_t>(payee)] += amount;
            bank[static_cast<size_t>(payer)].box.send({transfer, payee, amount});
        }
        for (account& one : bank) one.box.close();
        done.wait();
        const int64_t elapsed = now_ns() - begin;
        for (size_t i = 0; i < bank.size(); ++i) {
            check(bank[i].balance == expected[i], "savina_banking: the balance of every account");
        }
        return elapsed;
    });
}

}  // namespace bench
