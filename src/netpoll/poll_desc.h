// poll_desc.h: the state of one open file descriptor that green threads wait for.
//
// There is one poll_desc per file number, made on first use and never freed. Its word counts users,
// says whether it is closing, and holds a generation, which changes with each file of that number.
// Events of an earlier one are dropped.
//
//      free ──open──▶ open ──close──▶ closing ──last user leaves──▶ free
//
//   open     starts a new generation, with the opener as a user
//   enter    adds a user; refused unless the generation is the caller's and it is open. A refusal
//            never counts a user in passing, because detach would see it.
//   close    refuses new users, wakes all waiters, and ends the closer's own use
//   leave    the last user of a closing one removes it from the poller and closes the file
//
// A file that weft does not own (wait_fd) is borrowed: open while anything waits for it, and not
// closed by its last user. Its owner may close it at any time, and the number may be reused while
// users remain. So open() first ends such a generation, and removes the number from the poller, to
// which a borrower may have added the new file.
//
// A file of code that does not know of weft (weft::hooks) is borrowed and kept: it stays in the
// poller between uses, because it is waited for again and again. Nothing says reliably when it is
// closed, so each of its waits adds it again (add_anew). Where a close is seen, renounce() ends the
// generation.
//
// Rejected: a descriptor per open file: it needs type-stable memory, and a table for borrowed
// files.
//
// Invariants: I1. The generation changes only with both directions' locks held.
//             I2. home is nullptr unless the number means the file added there, or that file's
//                 owner has closed it without notice.
// Ordering:   R2 (leave) pairs with A2 (the last user's leave, the next open, and enter after
//                that).
// Locks:      registering, then in, then out.
// Threads:    any.
// See:        docs/netpoll.md, poll_desc_test.cc, test/model/poll_desc_model.cc
#pragma once

#include <cstdint>

#include <weft/detail/spin_lock.h>
#include <weft/detail/wait.h>

#include "base/atomic.h"
#include "netpoll/poll_side.h"
#include "poll/backend.h"

namespace weft::detail {

class alignas(2 * cache_line) poll_desc {
public:
    poll_side in;
    poll_side out;

    // The descriptor of that number; nullptr: out of memory, or no valid number.
    [[nodiscard]] static poll_desc* of(int fd) noexcept;

    // The same, if it has been made; else nullptr.
    [[nodiscard]] static poll_desc* existing(int fd) noexcept;

    // The first existing one with that number or a higher one, or nullptr.
    [[nodiscard]] static poll_desc* from(int fd) noexcept;

    // Whether any was ever made.
    [[nodiscard]] static bool any() noexcept;

    // Above all file numbers.
    static constexpr int numbers_end = 1 << 24;

    // The number of forks before this process. A child uses nothing older.
    [[nodiscard]] static uint32_t process() noexcept { return forks_.load(relaxed_alone); }

    [[nodiscard]] int fd() const noexcept { return fd_; }

    // Takes over fd, just opened. Returns the generation, which all uses need.
    [[nodiscard]] uint32_t open() noexcept;

    // False: closed.
    [[nodiscard]] bool enter(uint32_t generation) noexcept;

    // Whether that generation is not closed. Requires: a user.
    [[nodiscard]] bool is_open(uint32_t generation) const noexcept {
        const uint64_t word =
            word_.load(acquire);  // A1 of the side whose edges were read first: close() counts one later
        return generation_of(word) == generation && (word & closing) == 0;
    }

    // Ends a use.
    void leave() noexcept;

    // False: closed already.
    bool close(uint32_t generation) noexcept;

    // Releases the file without closing it. Returns its number, or -1: it has other users, or is
    // closed.
    [[nodiscard]] int detach(uint32_t generation) noexcept;

    // Begins a use of a file, owned or not. Returns its generation, or 0: it is being closed.
    [[nodiscard]] uint32_t borrow() noexcept;

    // As borrow(), for a file that stays in the poller when its last user leaves. Its waits call
    // add_anew.
    [[nodiscard]] uint32_t borrow_kept() noexcept;

    // Adds it to its home, or to where if it has none, also if the number means another file since.
    // Requires: a user. Returns 0 or an errno value.
    [[nodiscard]] int add_anew(poll_backend& where) noexcept;

    // Whether a file of that number that is not weft's was waited for, and not renounced since.
    [[nodiscard]] bool is_borrowed() noexcept { return (latest() & borrowed) != 0; }

    // The owner of a borrowed file is about to close it: ends the generation and wakes its waiters,
    // which find it closed. Returns false if it is not borrowed.
    bool renounce() noexcept;

    // After the close that renounce() announced: makes waiters that have come in between try again.
    void look_after_close() noexcept;

    // Whether an open file of weft has that number. A hint, unless it is the caller's.
    [[nodiscard]] static bool is_owned(int fd) noexcept;

    // nullptr: in no poller.
    [[nodiscard]] poll_backend* home() const noexcept { return home_.load(relaxed); }  // relaxed: a look; else locked

    // These two: poll_side.h.
    void nudge(poll_side& side, uint32_t generation) noexcept { side.nudge(word_, generation); }

    void look_again(poll_side& side, uint32_t generation) noexcept { side.look_again(word_, generation); }

    // Adds it to where, unless it has a home. Requires: a user. Returns 0 or an errno value.
    [[nodiscard]] int add_to(poll_backend& where) noexcept;

    // Hints before delivery. For a batch, call the first for all events, then the second, which
    // needs the first's lines.
    static void prefetch(const poll_event& event) noexcept;
    static void prefetch_waiter(const poll_event& event) noexcept;

    // Counts an event as an edge. Returns the waiters it wakes, at most two, chained, for the
    // caller to ready.
    [[nodiscard]] static waiter* deliver(const poll_event& event) noexcept;

    // Called before where is destroyed. Its descriptors' waiters wake, try again, and add them
    // elsewhere.
    static void abandon(const poll_backend& where) noexcept;

    // In a fork child: drops all waiters, users and homes.
    static void forget_all() noexcept;

    // A simulation with these numbers has ended, and its green threads will not run again.
    static void forget_simulated(int first, int count) noexcept;

private:
    // The word: generation << 32 | flags | users.
    static constexpr uint64_t closing = uint64_t{1} << 31;
    static constexpr uint64_t unused = uint64_t{1} << 30;  // only together with closing, so that enter refuses
    static constexpr uint64_t borrowed = uint64_t{1} << 29;
    static constexpr uint64_t kept = uint64_t{1} << 28;  // only together with borrowed
    static constexpr uint64_t users_mask = kept - 1;
    [[nodiscard]] uint64_t token() const noexcept;

    // The word, after all changes until now: a load could miss a borrower that has just come.
    [[nodiscard]] uint64_t latest() noexcept { return word_.fetch_add(0, acq_rel); }  // A2

    uint32_t begin(uint64_t flags, bool only_unused) noexcept;
    void finish(uint64_t word) noexcept;
    bool end_at(uint64_t word) noexcept;
    void remove_locked() noexcept WEFT_REQUIRES(registering_);

    void wake_all() noexcept {
        in.wake_all();
        out.wake_all();
    }

    void forget() noexcept;
    void add_again() noexcept;

    static constinit atomic<uint32_t> forks_;
    atomic<uint64_t> word_{closing | unused};
    atomic<poll_backend*> home_{nullptr};  // written under registering_
    spin_lock registering_;
    int fd_ = -1;  // immutable
};

}  // namespace weft::detail
