// 10_select.cc: waits for several things at once.
//
// select takes cases: a value to receive, a value to send, a point in time, the end of a future. It
// executes exactly one of them. If several are ready, it chooses one at random; if none is ready,
// it waits for the first.
//
// - The function of the case is called last, after the select has finished, so it may block, throw
//   or select again.
// - With otherwise(), select does not wait.
// - A nil channel is never ready; assigning one disables a case.
// - select_set is for cases that are known only at run time.
// - Without functions, the result is a std::variant.
//
// Prints:
//     merged 6 numbers from two channels, sum 21
//     no value is ready: doing something else
//     no value within 5 ms
//     sent "parcel" through the door that was open; the other still has "letter"
//     the quick one was first with 1
//     as a variant: case 1, the number 42
//     8 sources, 80 values
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

weft::recv_chan<int> numbers(int from, int to) {
    const weft::chan<int> c;
    weft::go([=] {
        for (int i = from; i <= to; ++i) c.send(i);
        c.close();
    });
    return c;
}

// Receives from both channels until both are closed. A closed channel is always ready, so it is
// replaced by a nil channel.
void merge() {
    weft::recv_chan<int> a = numbers(1, 3);
    weft::recv_chan<int> b = numbers(4, 6);
    int open = 2;
    int count = 0;
    int sum = 0;
    const auto take = [&](weft::recv_chan<int>& from, std::optional<int> v) {
        if (v) {
            ++count;
            sum += *v;
        } else {
            from = weft::chan<int>::nil();
            --open;
        }
    };
    while (open > 0) {
        weft::select(weft::on_recv(a, [&](std::optional<int> v) { take(a, v); }),
                     weft::on_recv(b, [&](std::optional<int> v) { take(b, v); }));
    }
    std::printf("merged %d numbers from two channels, sum %d\n", count, sum);
}

void not_for_ever() {
    const weft::chan<int> silent;
    const auto heard = [](std::optional<int>) { std::puts("received a value"); };
    weft::select(weft::on_recv(silent, heard),
                 weft::otherwise([] { std::puts("no value is ready: doing something else"); }));
    weft::select(weft::on_recv(silent, heard), weft::on_timeout(5ms, [] { std::puts("no value within 5 ms"); }));
}

// Only the chosen case moves its value.
void send_to_either() {
    const weft::chan<std::string> shut;
    const weft::chan<std::string> open(1);
    std::string letter = "letter";
    std::string parcel = "parcel";
    weft::select(weft::on_send(shut, std::move(letter), [] {}), weft::on_send(open, std::move(parcel), [] {}));
    const char* kept = letter.c_str();  // NOLINT(bugprone-use-after-move): it has not been moved from
    std::printf("sent \"%s\" through the door that was open; the other still has \"%s\"\n", open.recv()->c_str(), kept);
}

void first_of_two_futures() {
    const auto after = [](std::chrono::milliseconds delay, int value) {
        return weft::async([=] {
            weft::sleep_for(delay);
            return value;
        });
    };
    weft::future<int> quick = after(1ms, 1);
    weft::future<int> slow = after(10s, 2);
    weft::select(weft::on_future(quick, [&] { std::printf("the quick one was first with %d\n", quick.get()); }),
                 weft::on_future(slow, [] { std::puts("the slow one was first"); }));
    slow.cancel();
}

void as_a_value() {
    const weft::chan<std::string> words;
    const weft::recv_chan<int> answer = numbers(42, 42);
    auto r = weft::select(weft::recv_case(words), weft::recv_case(answer), weft::timeout_case(10s));
    if (r.index() == 1) std::printf("as a variant: case 1, the number %d\n", std::get<1>(r).value_or(0));
}

void known_at_run_time() {
    constexpr std::size_t sources = 8;
    weft::select_set set;
    int values = 0;
    for (std::size_t i = 0; i < sources; ++i) {
        set.add_recv(numbers(1, 10), [&, i](std::optional<int> v) {  // i is the number that add_recv will return
            if (v) {
                ++values;
            } else {
                set.remove(i);
            }
        });
    }
    while (set.size() > 0) set.wait();
    std::printf("%zu sources, %d values\n", sources, values);
}

}  // namespace

int main() {
    return weft::main([] {
        merge();
        not_for_ever();
        send_to_either();
        first_of_two_futures();
        as_a_value();
        known_at_run_time();
    });
}
