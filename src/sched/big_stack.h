// big_stack.h: a green thread that runs a call on a larger stack.
//
// Stacks are small because there are many, but a few calls need a large one. A new green thread for
// such a call costs two switches, and does not have the caller's locals, locks, pins, labels and
// contexts. So the G stays, and its stack changes: G::stack is the current one, whose record links
// the one that it continues.
//
//     G ──stack──▶ big record ──next──▶ own record         continues: set in big, clear in own
//                  owner = G            owner = G
//
// Code that needs the bounds of a G's stack (overflow report, dump, canary, sanitizers) uses
// G::stack; read_frames follows the records. What a record says of its owner (pinned_to, holder)
// moves to the new record and back.
//
// The call is run_call_on_stack, without a switch: exceptions unwind from one stack to the other,
// and a destructor on the caller's stack ends the visit.
//
// Invariants: I1. All records of a chain have the same owner. The last is the G's first stack.
//             I2. Only a running G changes its chain; other threads read it while the G is held
//                 still.
// Threads:    a running G, outside the runtime.
// See:        docs/stacks.md, context/call_on_stack.h, include/weft/big_stack.h
#pragma once

namespace weft::detail {

struct G;

// g ends here, without returning to the stacks below: these go back to the pool.
void give_continued_back(G& g) noexcept;

}  // namespace weft::detail
