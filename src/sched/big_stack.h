// big_stack.h: a green thread whose frames go on on a larger stack for the time of a call.
//
// The problem. Stacks are small because there are many; a few calls need a large one. Starting a green thread with a large stack and
// waiting for it costs two switches, and the callee is somebody else then: its locals, locks, pins, labels and contexts are not the
// caller's.
//
// So the G stays, and its stack changes: G::stack is the one that it runs on, whose record knows the one it continues.
//
//     G ──stack──▶ big record ──next──▶ own record         continues: set in big, clear in own
//                  owner = G            owner = G
//
// Everything that asks for the bounds of a G's stack (overflow report, dump, canary, sanitizers) asks G::stack, and so finds the part
// that matters; whoever walks frames follows the records (read_frames). What a record says of its owner, whom it is pinned to and who it is
// as a holder of mutexes, moves along, there and back.
//
// The call itself is run_call_on_stack: no switch, so an exception unwinds from the one stack to the other, and the visit ends in a
// destructor on the caller's.
//
// Invariants: I1. All records of a chain have the same owner. Its last one is the stack that the G was started on.
//             I2. Only the G that runs changes its chain; others look at it only while it is held still.
// Who:        a G that runs, outside of the runtime.
// See:        docs/stacks.md, context/call_on_stack.h, include/weft/big_stack.h
#pragma once

namespace weft::detail {

struct G;

// g ends where it is, and does not return to the stacks below: those go back to the pool.
void give_continued_back(G& g) noexcept;

}  // namespace weft::detail
