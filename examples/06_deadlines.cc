// 06_deadlines.cc: channel operations with and without a time limit.
//
// Every channel operation has three forms:
//
// - recv() and send() wait without a limit.
// - try_recv() and try_send() do not wait.
// - recv_for() and send_for() wait for at most a duration; recv_until() and send_until() wait until
//   a point in time.
//
// The last two forms return a status: ok, would_block, timeout or closed. A value is moved from
// only on ok, so after a timeout the sender still has it. A future has waits with a time limit,
// too. weft::sleep_for parks the green thread, not the OS thread under it.
//
// Prints:
//     an empty channel, not waiting:      would_block
//     an empty channel, for 10 ms:        timeout
//     a value that comes after 5 ms:      ok, 42
//     a full channel, for 10 ms:          timeout, and the sender still has "second"
//     a closed channel, first:            ok, first
//     a closed channel, then:             closed
//     three replicas, the first answer:   the quick one
//     a future, for 10 ms:                timeout; in the end: 7
#include <chrono>
#include <cstdio>
#include <future>
#include <string>
#include <utility>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

const char* name(weft::chan_status status) {
    switch (status) {
        case weft::chan_status::ok:
            return "ok";
        case weft::chan_status::would_block:
            return "would_block";
        case weft::chan_status::timed_out:
            return "timeout";
        case weft::chan_status::closed:
            return "closed";
    }
    return "?";
}

void receive() {
    const weft::chan<int> numbers;
    std::printf("an empty channel, not waiting:      %s\n", name(numbers.try_recv().status));
    std::printf("an empty channel, for 10 ms:        %s\n", name(numbers.recv_for(10ms).status));

    weft::go([numbers] {
        weft::sleep_for(5ms);
        numbers.send(42);
    });
    auto answer = numbers.recv_for(10s);
    std::printf("a value that comes after 5 ms:      %s, %d\n", name(answer.status), *answer);
}

void send() {
    const weft::chan<std::string> letters(1);
    letters.send("first");

    std::string letter = "second";
    const weft::chan_status status = letters.send_for(std::move(letter), 10ms);
    const char* kept = letter.c_str();  // NOLINT(bugprone-use-after-move): moved from only if status were ok
    std::printf("a full channel, for 10 ms:          %s, and the sender still has \"%s\"\n", name(status), kept);

    letters.close();  // buffered values can still be received
    auto received = letters.try_recv();
    std::printf("a closed channel, first:            %s, %s\n", name(received.status), received->c_str());
    received = letters.try_recv();
    std::printf("a closed channel, then:             %s\n", name(received.status));
}

// Asks three replicas and takes the first answer. The channel has room for all three, so that the
// late ones do not wait for ever.
void first_of_three() {
    const weft::chan<const char*> answers(3);
    const auto replica = [answers](const char* who, std::chrono::milliseconds delay) {
        weft::go([=] {
            weft::sleep_for(delay);
            answers.send(who);
        });
    };
    replica("the slow one", 10s);
    replica("the quick one", 5ms);
    replica("the slower one", 20s);
    std::printf("three replicas, the first answer:   %s\n", answers.recv().value());
}

void wait_for_a_future() {
    const weft::chan<int> result;
    weft::future<int> seven = weft::async([result] { return result.recv().value(); });
    const bool timed_out = seven.wait_for(10ms) == std::future_status::timeout;
    result.send(7);
    std::printf("a future, for 10 ms:                %s; in the end: %d\n", timed_out ? "timeout" : "ready",
                seven.get());
}

}  // namespace

int main() {
    return weft::main([] {
        receive();
        send();
        first_of_three();
        wait_for_a_future();
    });
}
