// poll_desc.h: the state of one open file descriptor that green threads wait for.
//
// Problem: edges (backend.h) come to any thread, while green threads begin to wait, read, or close
// the file, or its number already means another file. No edge may be lost or reach the wrong file.
// A call that need not wait should cost little beyond its system call.
//
// poll_side.h describes one direction, and how a call tries and waits.
//
// A process has one poll_desc per file number, made on first use and never freed. Its word holds
// the number of users, a flag for closing, and a generation, which changes with each file of that
// number.
//
//      free ──open──▶ open ──close──▶ closing ──last user leaves──▶ free
//
//   open     starts a new generation, with the opener as a user
//   enter    adds a user; refused unless the generation is the caller's and it is open. A refusal
//            never counts a user in passing, because detach would see it.
//   close    refuses new users and wakes all waiters, which find it closed; ends the closer's own
//            use
//   leave    the last user of a closing one removes it from the poller, and closes the file
//
// So a file is never closed during a system call on it, nor its number reused before all users have
// left. Events carry their generation; late ones are dropped under the lock.
//
// A file that weft does not own (wait_fd, for libraries with their own files) is borrowed: open
// while anything waits for it. The last user removes it from the poller without closing it. Its
// owner may close it at any time, and the number may be reused before all users have left. So
// open() ends such a generation first, and removes the number from the poller, which may have added
// the new file already.
//
// Rejected: a descriptor per open file, found by address: needs type-stable memory, a free list,
// and a table for borrowed files, which come as numbers.
//
// Invariants: I1. The generation changes only with both directions' locks held.
//             I2. home is not nullptr only while the number means the file added there, or that
//                 file's owner has closed it without notice.
// Ordering:   R2 (leave) pairs with A2 (the last user's leave, the next open, and enter after
//             that).
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

    // The descriptor of that number; nullptr: out of memory, or no valid number. This and the next
    // two are in poll_table.cc.
    [[nodiscard]] static poll_desc* of(int fd) noexcept;

    // The first existing one with that number or a higher one; nullptr: no such one.
    [[nodiscard]] static poll_desc* from(int fd) noexcept;

    // Whether any was ever made.
    [[nodiscard]] static bool any() noexcept;

    // Above all file numbers.
    static constexpr int numbers_end = 1 << 24;

    // The number of forks before this process. A child uses nothing from before its fork.
    [[nodiscard]] static uint32_t process() noexcept {
        return forks_.load(relaxed);  // relaxed: changes only while there is one thread
    }

    [[nodiscard]] int fd() const noexcept { return fd_; }

    // Takes over fd, just opened. Returns the generation, the key to all uses.
    [[nodiscard]] uint32_t open() noexcept;

    // Begins a use. False: closed.
    [[nodiscard]] bool enter(uint32_t generation) noexcept;

    // Whether that generation is not closed. Requires: a user.
    [[nodiscard]] bool is_open(uint32_t generation) const noexcept {
        const uint64_t word =
            word_.load(acquire);  // A1 of the side whose edges were read first: close() counts one later
        return generation_of(word) == generation && (word & closing) == 0;
    }

    // Ends a use.
    void leave() noexcept;

    // Refuses new users and wakes all waiters. The file is closed when the last user leaves,
    // possibly now. False: closed already.
    bool close(uint32_t generation) noexcept;

    // Releases the file without closing it. Returns its number, or -1: it has other users, or is
    // closed.
    [[nodiscard]] int detach(uint32_t generation) noexcept;

    // Begins a use of a file, owned or not. Returns its current generation, or 0: it is being
    // closed.
    [[nodiscard]] uint32_t borrow() noexcept;

    // The poller it was added to; nullptr: none.
    [[nodiscard]] poll_backend* home() const noexcept { return home_.load(relaxed); }  // relaxed: a look; else locked

    // poll_side::nudge for one direction.
    void nudge(poll_side& side, uint32_t generation) noexcept { side.nudge(word_, generation); }

    // poll_side::look_again for one direction.
    void look_again(poll_side& side, uint32_t generation) noexcept { side.look_again(word_, generation); }

    // Adds it to where, unless it has a home. Requires: a user. Returns 0 or an errno value.
    [[nodiscard]] int add_to(poll_backend& where) noexcept;

    // Hints before delivery: fetch the descriptor into the cache, then its waiter. For a batch,
    // call the first for all events, then the second, which needs the first's lines.
    static void prefetch(const poll_event& event) noexcept;
    static void prefetch_waiter(const poll_event& event) noexcept;

    // Counts an event as an edge. Returns the waiters it wakes, at most two, chained; the caller
    // makes them ready.
    [[nodiscard]] static waiter* deliver(const poll_event& event) noexcept;

    // Called before where is destroyed: detaches its descriptors. Their waiters wake, try again,
    // and add them elsewhere.
    static void abandon(const poll_backend& where) noexcept;

    // In the child of a fork: drops all waiters, users and homes. In poll_table.cc.
    static void forget_all() noexcept;

private:
    // The word: generation << 32 | flags | users.
    static constexpr uint64_t closing = uint64_t{1} << 31;
    static constexpr uint64_t unused = uint64_t{1} << 30;  // only together with closing, so that enter refuses
    static constexpr uint64_t borrowed = uint64_t{1} << 29;
    static constexpr uint64_t users_mask = borrowed - 1;
    [[nodiscard]] uint64_t token() const noexcept;
    uint32_t begin(uint64_t flags, bool only_unused) noexcept;
    void finish(uint64_t word) noexcept;
    bool end_at(uint64_t word) noexcept;
    void remove_locked() noexcept;

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
