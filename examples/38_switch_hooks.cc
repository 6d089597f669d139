// 38_switch_hooks.cc: hooks at switches: how long each green thread has run, and a thread-local
// that follows its green thread.
#include <time.h>

#include <atomic>
#include <cstdint>
#include <cstdio>

#include <weft/observe/switch_hooks.h>
#include <weft/weft.h>

using weft::observe::switch_event;
using weft::observe::switch_hooks;

// Of a library that knows only OS threads: the user that the thread works for.
thread_local const char* current_user = "none";

int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// What a green thread sets as its word.
struct account {
    const char* user = "";
    int64_t began_ns = 0;
    int64_t ran_ns = 0;
    int times = 0;
};

void enter(void* /*argument*/, const switch_event& event) noexcept {
    auto* a = static_cast<account*>(event.word);
    if (a == nullptr) return;
    current_user = a->user;
    a->began_ns = now_ns();
    ++a->times;
}

void leave(void* /*argument*/, const switch_event& event) noexcept {
    current_user = "none";
    auto* a = static_cast<account*>(event.word);
    if (a != nullptr) a->ran_ns += now_ns() - a->began_ns;
}

// Not inlined, because the address of a thread-local must not be kept across a switch.
[[gnu::noinline]] const char* user_of_thread() {
    asm volatile("");
    return current_user;
}

int main() {
    return weft::main([] {
        switch_hooks hooks(&enter, &leave, nullptr);
        account accounts[2] = {{.user = "anna"}, {.user = "otto"}};
        std::atomic<bool> is_right = true;
        weft::wait_group done;
        for (account& a : accounts) {
            done.go([&] {
                hooks.set_word(&a);
                for (int i = 0; i < 1000; ++i) {
                    if (user_of_thread() != a.user) is_right = false;
                    weft::yield();
                }
                hooks.set_word(nullptr);
            });
        }
        done.wait();
        hooks.remove();
        for (const account& a : accounts)
            std::printf("%s ran %d times, for %lld us\n", a.user, a.times, static_cast<long long>(a.ran_ns / 1000));
        std::printf("the thread-local was %s\n", is_right ? "always right" : "wrong");
    });
}
