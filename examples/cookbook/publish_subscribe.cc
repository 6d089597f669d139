// publish_subscribe.cc: every subscriber gets every message, and a slow one does not delay the
// others: it loses its oldest messages.
// See: docs/cookbook/publish_subscribe.md
#include <cstddef>
#include <cstdio>
#include <list>
#include <mutex>
#include <string>
#include <utility>

#include <weft/weft.h>

namespace {

class topic {
public:
    class subscription {
    public:
        explicit subscription(std::size_t room) : messages(room) {}

        const weft::chan<std::string> messages;  // closed when the topic is
        int lost = 0;                            // guarded by lock_ of the topic
    };

    // The subscription lives as long as the topic. It keeps the last `room` messages, at least 1.
    subscription& subscribe(std::size_t room) {
        const std::lock_guard hold(lock_);
        return subscribers_.emplace_back(room);
    }

    // Never waits for a subscriber.
    void publish(const std::string& message) {
        const std::lock_guard hold(lock_);
        for (subscription& s : subscribers_) {
            while (s.messages.try_send(message) == weft::chan_status::would_block) {
                if (s.messages.try_recv()) ++s.lost;  // full: the oldest message makes room
            }
        }
    }

    void close() {
        const std::lock_guard hold(lock_);
        for (subscription& s : subscribers_) s.messages.close();
    }

private:
    weft::mutex lock_;
    std::list<subscription> subscribers_;  // guarded by lock_; a list, so that they keep their addresses
};

void read_all(const char* name, topic::subscription& from) {
    std::string text;
    for (const std::string& message : from.messages) text += ' ' + message;
    std::printf("%s:%s (%d lost)\n", name, text.c_str(), from.lost);
}

}  // namespace

int main() {
    return weft::main([] {
        topic prices;
        topic::subscription& archive = prices.subscribe(100);
        topic::subscription& display = prices.subscribe(3);  // wants only the newest
        for (int i = 1; i <= 8; ++i) prices.publish(std::to_string(i));
        prices.close();
        read_all("archive", archive);
        read_all("display", display);
    });
}
