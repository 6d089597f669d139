// hosts.h: the hosts of a simulated network, their addresses, and which of them reach each other.
//
// Host 0 is "localhost", with the loopback addresses; the others have 10.0.x.y. Addresses are kept
// in their IPv6 form, in which IPv4 ones are mapped.
//
// Threads: the simulation's M.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/detail/cancel.h>

namespace weft::sim {

using ip = std::array<uint8_t, 16>;

[[nodiscard]] ip mapped(const std::array<uint8_t, 4>& v4) noexcept;
[[nodiscard]] bool is_any(const ip& a) noexcept;  // 0.0.0.0 or ::
[[nodiscard]] bool is_loopback(const ip& a) noexcept;

// How a host's clock on the wall differs from the simulation's.
struct wall_clock {
    int64_t since_ns = 0;
    int64_t offset_ns = 0;
    double drift = 0;  // a part of the time since then
};

class host;

class hosts {
public:
    // Begins again, with "localhost".
    void clear();

    // After a failed schedule: never destroys the contexts, because scopes and deadlines on the
    // stacks of green threads that never run again refer to them.
    void abandon();

    // nullopt: the name is taken.
    [[nodiscard]] std::optional<unsigned> add(std::string_view name);

    [[nodiscard]] std::optional<unsigned> find(std::string_view name) const noexcept;
    // Which one a green thread on `from` means by that address.
    [[nodiscard]] std::optional<unsigned> find(const ip& address, unsigned from) const noexcept;

    [[nodiscard]] std::size_t count() const noexcept { return all_.size(); }

    [[nodiscard]] const std::string& name(unsigned host) const noexcept { return all_[host].name; }

    [[nodiscard]] static std::array<uint8_t, 4> address(unsigned host) noexcept;

    [[nodiscard]] bool is_up(unsigned host) const noexcept { return all_[host].up; }

    // Cancels the green threads there.
    void crash(unsigned host) noexcept;
    void restart(unsigned host);

    // How often it has been restarted.
    [[nodiscard]] unsigned boot(unsigned host) const noexcept { return all_[host].boot; }

    // A context for one green thread there, which lives until clear(). nullptr: on "localhost",
    // which does not crash.
    [[nodiscard]] weft::detail::cancel_context* new_context(unsigned host);

    void set_clock(unsigned host, const wall_clock& c) noexcept { all_[host].clock = c; }

    [[nodiscard]] int64_t wall_ns(unsigned host, int64_t now_ns) const noexcept {
        const wall_clock& c = all_[host].clock;
        return now_ns + c.offset_ns + static_cast<int64_t>(c.drift * static_cast<double>(now_ns - c.since_ns));
    }

    void cut(unsigned from, unsigned to) { cut_.insert({from, to}); }

    void heal(unsigned from, unsigned to) { cut_.erase({from, to}); }

    void heal() { cut_.clear(); }

    // Whether what arrives now, does arrive.
    [[nodiscard]] bool reaches(unsigned from, unsigned to) const noexcept {
        return all_[from].up && all_[to].up && (cut_.empty() || !cut_.contains({from, to}));
    }

private:
    struct record {
        std::string name;
        bool up = true;
        unsigned boot = 0;
        wall_clock clock;
        // Those of green threads lie in the host's, and are destroyed first.
        std::unique_ptr<weft::detail::cancel_context> context;
        std::vector<std::unique_ptr<weft::detail::cancel_context>> of_green_threads;
    };

    std::vector<record> all_;
    std::set<std::pair<unsigned, unsigned>> cut_;
};

namespace detail {

// The number of a host that a program has. Throws std::invalid_argument if it is of another
// schedule, which had more hosts.
struct host_access {
    [[nodiscard]] static unsigned number(const host& h);
};

}  // namespace detail

}  // namespace weft::sim
