// 13_coroutines.cc: coroutines and green threads on the same channels.
//
// A pipeline of three stages: the first and the last are coroutines, the middle one is a green
// thread.
//
// Prints:
//     the sum of the squares is 338350
#include <cstdio>
#include <optional>
#include <string>

#include <weft/weft.h>

namespace {

// A wait suspends the coroutine and keeps no stack.
weft::task<> count_to(int n, weft::chan<int> out) {
    for (int i = 1; i <= n; ++i) co_await weft::co::send(out, i);
    out.close();
}

// Straight-line code that blocks.
void square(const weft::chan<int>& in, const weft::chan<long>& out) {
    for (const int n : in) out.send(static_cast<long>(n) * n);
    out.close();
}

weft::task<long> add_up(weft::chan<long> in) {
    long sum = 0;
    while (std::optional<long> n = co_await weft::co::recv(in)) sum += *n;
    co_return sum;
}

// A task can await another task.
weft::task<std::string> report(weft::chan<long> in) {
    const long sum = co_await add_up(in);
    co_return "the sum of the squares is " + std::to_string(sum);
}

}  // namespace

int main() {
    return weft::main([] {
        const weft::chan<int> numbers;
        const weft::chan<long> squares(16);
        weft::future<void> counting = weft::async(count_to(100, numbers));
        weft::go([=] { square(numbers, squares); });
        weft::future<std::string> text = weft::async(report(squares));
        std::printf("%s\n", text.get().c_str());
        counting.get();
    });
}
