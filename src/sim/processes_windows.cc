// processes_windows.cc: see processes.h. Windows has no fork.
#include <stdexcept>

#include "sim/processes.h"

namespace weft::sim {

search_result search_in_processes(unsigned /*n*/,
                                  const std::function<finding(unsigned i, progress& shared)>& /*work*/) {
    throw std::invalid_argument("weft::sim: a search by several processes needs fork, which Windows has not");
}

}  // namespace weft::sim
