// 00_first.cc: a hundred thousand green threads that sleep at the same time, and send on one channel.
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
                weft::sleep_for(100ms);  // parks the green thread; no OS thread waits
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
