// weft_adapter.h: how weft spells what workload/suite.h asks of a runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <weft/weft.h>

namespace bench {

struct weft_adapter {
    static const char* peer() { return "weft"; }

    static std::string version() { return "gcc " __VERSION__; }

    template <typename Body>
    static void run(int p, Body body) {
        weft::main(weft::runtime_options{.procs = static_cast<unsigned>(p)}, body);
    }

    template <typename F>
    static void go(F f) {
        weft::go(std::move(f));
    }

    template <typename F>
    static void go_child(F f) {
        weft::go(std::move(f));
    }

    template <typename F>
    static void spawn_and_join(F f) {
        weft::wait_group done;
        done.add(1);
        weft::go([&] {
            f();
            done.done();
        });
        done.wait();
    }

    static void yield() { weft::yield(); }

    class wait_group {
    public:
        void add(int64_t n) { group_.add(static_cast<int>(n)); }

        void done() { group_.done(); }

        void wait() { group_.wait(); }

    private:
        weft::wait_group group_;
    };

    using mutex = weft::mutex;

    template <typename T>
    class channel {
    public:
        explicit channel(std::size_t capacity) : channel_(capacity) {}

        void send(T value) const { channel_.send(std::move(value)); }

        void close() const { channel_.close(); }

        bool recv(T& value) const {
            std::optional<T> received = channel_.recv();
            if (!received) return false;
            value = std::move(*received);
            return true;
        }

    private:
        weft::chan<T> channel_;
    };

    template <typename T>
    using unbuffered = channel<T>;

    template <typename T>
    static channel<T> make_unbuffered() {
        return channel<T>(0);
    }

    template <typename T>
    static channel<T> make_buffered(int64_t capacity) {
        return channel<T>(static_cast<std::size_t>(capacity));
    }
};

}  // namespace bench
