// data_race.cc: two threads write one variable. The thread sanitizer must end the program.
#include <cstdio>
#include <thread>

int main() {
    int shared = 0;
    std::thread other([&shared] { shared = 1; });
    shared = 2;
    other.join();
    std::printf("%d\n", shared);
}
