// session_cache.h: what a client and its hosts have agreed on, for the next connection to the same one.
//
// OpenSSL hands a session over when a server has sent a ticket for it, in the middle of some read. One is kept for each host, the newest, and
// the host not asked for the longest time goes when there are too many. A session is given out once (a ticket that is used twice lets an
// onlooker see that the two belong together); the next connection brings a new one.
//
// That the certificate was good for the host was found out when the session began: so they are kept by host and context, whose demands do
// not change.
//
// Who: any thread. The lock is held for a search in memory, never in a call of OpenSSL that could take one of its own.
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

    // Takes the session of host out; nullptr: there is none.
    [[nodiscard]] session_handle take(std::string_view host) noexcept;

    // Keeps it, in place of an older one. Throws std::bad_alloc.
    void keep(std::string_view host, session_handle session);

private:
    struct entry {
        std::string host;
        session_handle session;
    };

    const std::size_t most_;
    weft::detail::spin_lock lock_;
    std::list<entry> entries_;  // guarded by lock_: the newest first; no more than most_
};

}  // namespace weft::tls::detail
