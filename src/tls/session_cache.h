// session_cache.h: a client's sessions by host, for the next connection to the same host.
//
// OpenSSL hands over a session when a server has sent a ticket for it, in the middle of some read.
// The newest one is kept for each host. If there are too many hosts, the least recently used one is
// dropped. A session is used once, because a ticket that is used twice lets an observer link the
// two connections. The next connection brings a new one.
//
// The certificate was checked against the host when the session began. So sessions are kept per
// host and context, whose requirements do not change.
//
// Threads: any thread. The lock is held for a search in memory, never in a call of OpenSSL that
//          could
// take a lock of its own.
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

    // Stores a session, replacing an older one. Throws std::bad_alloc.
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
