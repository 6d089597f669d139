// 00_first.cc: 100,000 green threads sleep at the same time; then each sends a number on one
// channel. Prints the sum of the numbers.
#include <chrono>
#include <cstdio>

#include <weft/weft.h>

int main() {
    using namespace std::chrono_literals;
    return weft::main([] {
        weft::chan<int> numbers(16);  // send() waits while 16 values are in it
        weft::wait_group senders;
        for (int i = 0; i < 100'000; ++i) {
            senders.go([=] {
                weft::sleep_for(100ms);  // parks the green thread; blocks no OS thread
                numbers.send(i % 10);
            });
        }
        weft::go([&senders, numbers] {
            senders.wait();
            numbers.close();
        });
        long sum = 0;
        for (int number : numbers) sum += number;  // until the channel is closed and empty
        std::printf("100000 green threads sent numbers with the sum %ld\n", sum);
    });
}
