// session_cache.h: a client's sessions by host, for the next connection to the same host.
//
// OpenSSL hands over sessions in the middle of reads. The newest one is kept for each host, and the
// least recently used host is dropped. A session is used once, because two uses let an observer
// link the connections.
//
// A server's certificate was checked when its session began. So a cache belongs to one context,
// whose requirements do not change.
//
// Threads: any thread. The lock is not held in calls of OpenSSL that could take a lock of their
// own.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>

#include <weft/detail/spin_lock.h>

#include "tls/handle.h"

namespace weft::tls::detail {

class session_cache {
public:
    explicit session_cache(std::size_t most) noexcept : most_(most) {}

    [[nodiscard]] bool is_on() const noexcept { return most_ != 0; }

    // Takes out the session of host; nullptr if there is no session.
    [[nodiscard]] session_handle take(std::string_view host) noexcept;

    // Replaces an older session. Throws std::bad_alloc.
    void keep(std::string_view host, session_handle session);

private:
    struct entry {
        std::string host;
        session_handle session;
    };

    const std::size_t most_;
    weft::detail::spin_lock lock_;
    std::list<entry> entries_;  // guarded by lock_: newest first; at most most_
};

}  // namespace weft::tls::detail
