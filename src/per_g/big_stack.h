// big_stack.h: a green thread that makes a call on a larger stack.
//
// The G stays, because a new one would lack the caller's locals, locks, pins, labels and contexts.
// G::stack is the current stack, whose record links the one that it continues.
//
//     G ──stack──▶ big record ──next──▶ own record         continues: set in big, clear in own
//                  owner = G            owner = G
//
// Users of a G's stack bounds read G::stack; read_frames follows the records. What a record says of
// its owner (pinned_to, holder) moves there and back.
//
// Invariants: I1. All records of a chain have the same owner. The last is the G's first stack.
//             I2. Only a running G changes its chain; others read it while the G is held still.
// Threads:    a running G, outside the runtime.
// See:        docs/stacks.md, context/call_on_stack.h, include/weft/big_stack.h
#pragma once

namespace weft::detail {

struct G;

// g ends here: the stacks below go back to the pool.
void give_continued_back(G& g) noexcept;

}  // namespace weft::detail
