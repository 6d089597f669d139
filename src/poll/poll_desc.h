// poll_desc.h: what is known of one open file descriptor that green threads wait for: who waits, and what has happened since they looked.
//
// The problem. A descriptor's readiness comes as edges (backend.h), to any thread, at any moment: while a green thread is about to wait for
// it, while another one reads, while a third one closes it, and perhaps after its number already means another file. None may be lost,
// none may reach the wrong one, and a call that need not wait should cost little beyond its system call.
//
// A direction of it, and how a call tries and waits: poll_side.h.
//
// Opening and closing. A process has one descriptor of this kind for each number of a file, made when it is first needed, never freed. Its
// word holds: a generation, which changes with each file that gets the number; how many use it just now; and whether it is being closed.
//
//      free ──open──▶ open ──close──▶ closing ──last user leaves──▶ free
//
//   open     a new generation; the opener counts as a user
//   enter    counts a user; refused unless the generation is the caller's and it is open. Who is refused is not counted in passing, either:
//            detach would take him for a user
//   close    no one enters any more; all who wait are woken, and find it closed; the closer's own use ends
//   leave    the last one to leave one that is being closed takes it off the poller, and closes the file
//
// So a file is never closed under a system call that goes on, its number means nothing else before all who used it have left, and
// events carry the generation that they are for: a late one is dropped under the lock.
//
// A file that is not ours (wait_fd, for libraries with files of their own) is borrowed: open, for as long as somebody waits for it; the last
// one to leave takes it off the poller, and does not close it. Its owner may close it meanwhile, without a word. Then the number may be that
// of a new file before all have left: whoever opens it finds the old one, ends it first, and takes off the poller what is there
// under the number, as it may be the new file already.
//
// Rejected. A descriptor for each open file, found by address: it would have to be type-stable, with a list of free ones, all the same; and
// for a borrowed file, which comes as a number, there would have to be a table besides.
//
// Invariants: I1. The generation changes with both directions' locks held.
//             I2. home is not nullptr only while the number means the file that was added there, or its owner has closed it behind our back.
// Ordering:   R2 (leave) pairs with A2 (the last one to leave, or the next opener, and who enters after that).
// Locks:      registering, then in, then out.
// Who:        any thread.
// See:        docs/netpoll.md, poll_desc_test.cc, test/model/poll_desc_model.cc
#pragma once

#include <cstdint>

#include <weft/detail/spin_lock.h>
#include <weft/detail/wait.h>

#include "base/atomic.h"
#include "poll/backend.h"
#include "poll/poll_side.h"

namespace weft::detail {

class alignas(2 * cache_line) poll_desc {
public:
    poll_side in;
    poll_side out;

    // The one of that number; nullptr: no memory for it, or no such number. This and the next two: poll_table.cc.
    [[nodiscard]] static poll_desc* of(int fd) noexcept;

    // The first one there is of that number or a higher one; nullptr: there is none.
    [[nodiscard]] static poll_desc* from(int fd) noexcept;

    // Whether there has ever been one.
    [[nodiscard]] static bool any() noexcept;

    // Files have lower numbers than that.
    static constexpr int numbers_end = 1 << 24;

    // Which process this is, counted by forks: in a child, nobody uses what was used before.
    [[nodiscard]] static uint32_t process() noexcept {
        return forks_.load(relaxed);  // relaxed: there is one thread when it changes
    }

    [[nodiscard]] int fd() const noexcept { return fd_; }

    // fd has just been opened, and is ours. Returns the generation, which is what entitles to use it.
    [[nodiscard]] uint32_t open() noexcept;

    // Begins a use. False: it has been closed.
    [[nodiscard]] bool enter(uint32_t generation) noexcept;

    // Whether that generation has not been closed. By a user.
    [[nodiscard]] bool is_open(uint32_t generation) const noexcept {
        const uint64_t word =
            word_.load(acquire);  // A1 of the side whose edges were read before: close() counts one after
        return generation_of(word) == generation && (word & closing) == 0;
    }

    // Ends a use.
    void leave() noexcept;

    // Once a generation: nobody enters any more; wakes all who wait. The file is closed when all have left, which may be now. False: it was
    // closed already.
    bool close(uint32_t generation) noexcept;

    // Instead of close(): nobody uses it but the caller, and the file goes on living without it. Returns the number; -1: somebody uses
    // it, or it is closed.
    [[nodiscard]] int detach(uint32_t generation) noexcept;

    // Begins a use of a file that is not ours, or is. Returns the generation that it has then; 0: it is just being closed.
    [[nodiscard]] uint32_t borrow() noexcept;

    // Where its events come from; nullptr: it was not added anywhere.
    [[nodiscard]] poll_backend* home() const noexcept { return home_.load(relaxed); }  // relaxed: a look; else locked

    // As poll_side::nudge, of one direction.
    void nudge(poll_side& side, uint32_t generation) noexcept { side.nudge(word_, generation); }

    // As poll_side::look_again, of one direction.
    void look_again(poll_side& side, uint32_t generation) noexcept { side.look_again(word_, generation); }

    // Adds it to where, unless it is somewhere already. By a user. Returns 0 or an errno value.
    [[nodiscard]] int add_to(poll_backend& where) noexcept;

    // Hints, of events that will be delivered: fetch the descriptor into the cache, and then who waits for it. For a batch: the first for
    // all events, then the second for all, which must wait for what the first has asked for.
    static void prefetch(const poll_event& event) noexcept;
    static void prefetch_waiter(const poll_event& event) noexcept;

    // An event: counts an edge and takes out who is woken by it: at most two, chained, whom the caller makes ready.
    [[nodiscard]] static waiter* deliver(const poll_event& event) noexcept;

    // where is about to be destroyed: no descriptor will be there any more. Whoever waits for one of its events is woken, tries again, and adds
    // it elsewhere.
    static void abandon(const poll_backend& where) noexcept;

    // In the child of a fork: nobody waits, nobody uses any, and none is added anywhere. In poll_table.cc.
    static void forget_all() noexcept;

private:
    // The word: generation << 32 | flags | users.
    static constexpr uint64_t closing = uint64_t{1} << 31;
    static constexpr uint64_t unused = uint64_t{1} << 30;  // only with closing, so that nobody enters
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
    int fd_ = -1;  // its number; immutable
};

}  // namespace weft::detail
