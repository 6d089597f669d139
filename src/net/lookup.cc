// lookup.cc: see lookup.h.
#include "net/lookup.h"

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <weft/debug.h>
#include <weft/net/resolve.h>

#include "net/lookup_threads.h"
#include "os/sockets.h"

namespace weft::net::detail {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds first_patience(10);  // until L3
constexpr std::chrono::seconds ipv4_grace(1);
constexpr std::chrono::hours longest_delay(24);

int family_of(std::optional<endpoint::ip> only) noexcept {
    if (!only) return AF_UNSPEC;
    return *only == endpoint::ip::v4 ? AF_INET : AF_INET6;
}

class question {
public:
    question(const std::string& host, std::optional<endpoint::ip> only, std::chrono::nanoseconds delay)
        : threads_(lookup_threads::of_this_process()),
          delay_(std::clamp<std::chrono::nanoseconds>(delay, std::chrono::nanoseconds(0), longest_delay)),
          split_at_(only ? clock::time_point::max() : clock::now() + delay_),
          hurry_at_(clock::now() + first_patience) {
        const std::scoped_lock held(threads_.lock);
        whole_ = threads_.join({host, family_of(only)}, caller_);
    }

    ~question() {
        using leaving = lookup_threads::leaving;
        const std::scoped_lock held(threads_.lock);
        for (const auto* l : {&whole_, &v4_, &v6_}) {
            if (*l != nullptr) threads_.leave(caller_, *l, has_answer_ ? leaving::with_answer : leaving::without);
        }
    }

    question(const question&) = delete;
    question& operator=(const question&) = delete;

    lookup_result answer() {
        for (;;) {
            clock::time_point next{};
            {
                const std::scoped_lock held(threads_.lock);
                caller_.news.reset();
                const auto now = clock::now();
                if (now >= split_at_) split_locked();
                if (std::optional<lookup_result> found = found_locked(now)) {
                    has_answer_ = true;
                    return std::move(*found);
                }
                next = std::min({split_at_, enough_at_, hurry_locked(now)});
            }
            static_cast<void>(caller_.news.wait_until(next));
        }
    }

private:
    static bool has_addresses(const std::shared_ptr<lookup>& l) noexcept {
        return l != nullptr && l->has_ended && !l->result.addresses.empty();
    }

    static bool has_ended(const std::shared_ptr<lookup>& l) noexcept { return l != nullptr && l->has_ended; }

    // Q2.
    void split_locked() {
        split_at_ = clock::time_point::max();
        v4_ = threads_.join({whole_->what.first, AF_INET}, caller_);
        v6_ = threads_.join({whole_->what.first, AF_INET6}, caller_);
    }

    // Q3 and Q4.
    std::optional<lookup_result> found_locked(clock::time_point now) {
        const bool one_has = has_addresses(v4_) || has_addresses(v6_);
        const bool both_have = has_addresses(v4_) && has_addresses(v6_);
        if (has_addresses(whole_) || (whole_->has_ended && !one_has)) return whole_->result;
        const bool both_have_ended = has_ended(v4_) && has_ended(v6_);
        if (both_have_ended && (!both_have || whole_->has_ended)) return results_of_versions();
        if (!one_has) return std::nullopt;
        const std::chrono::nanoseconds grace =
            has_addresses(v4_) ? delay_ : std::max<std::chrono::nanoseconds>(delay_, ipv4_grace);
        enough_at_ = std::min(enough_at_, now + grace);
        if (now < enough_at_) return std::nullopt;
        return results_of_versions();
    }

    // IPv6 first. A version that has not ended counts as one without addresses.
    [[nodiscard]] lookup_result results_of_versions() const {
        lookup_result all = v6_->result;
        all.addresses.insert(all.addresses.end(), v4_->result.addresses.begin(), v4_->result.addresses.end());
        if (!all.addresses.empty()) {
            all.error.clear();
        } else if (v4_->result.error != resolve_errc::no_address) {
            all.error = v4_->result.error;
        }
        return all;
    }

    [[nodiscard]] bool all_have_begun() const noexcept {
        return std::ranges::all_of(std::initializer_list<const lookup*>{whole_.get(), v4_.get(), v6_.get()},
                                   [](const lookup* l) { return l == nullptr || l->has_begun; });
    }

    // L3. Returns when it is due next.
    clock::time_point hurry_locked(clock::time_point now) {
        if (all_have_begun()) return clock::time_point::max();
        if (now >= hurry_at_) {
            threads_.hurry();
            patience_ *= 2;
            hurry_at_ = now + patience_;
        }
        return hurry_at_;
    }

    lookup_threads& threads_;
    const std::chrono::nanoseconds delay_;
    clock::time_point split_at_;                              // when Q2 is due
    clock::time_point enough_at_ = clock::time_point::max();  // when the wait of Q3 ends
    clock::time_point hurry_at_;
    std::chrono::nanoseconds patience_ = first_patience;
    lookup_caller caller_;
    bool has_answer_ = false;
    std::shared_ptr<lookup> whole_;
    std::shared_ptr<lookup> v4_;
    std::shared_ptr<lookup> v6_;
};

}  // namespace

lookup_result look_up(const std::string& host,
                      std::optional<endpoint::ip> only,
                      std::chrono::nanoseconds resolution_delay) {
    const external_waker threads_work;
    question q(host, only, resolution_delay);
    return q.answer();
}

unsigned callers_for_test() {
    lookup_threads& threads = lookup_threads::of_this_process();
    const std::scoped_lock held(threads.lock);
    return threads.callers_for_test();
}

}  // namespace weft::net::detail
