// properties.cc: see weft/sim/properties.h.
#include <string>

#include <weft/sim/properties.h>

#include "sim/controlled_run.h"

namespace weft::sim {

namespace {

using detail::property_record;

// Filled while static objects are made, one after the other in one thread, or while a library is
// loaded.
constinit weft::detail::atomic<property_record*> all{nullptr};

property as_value(const property_record& r) {
    using weft::detail::relaxed;
    return {r.kind, r.name, r.file, r.line, r.held.load(relaxed), r.failed.load(relaxed)};  // relaxed: counts
}

bool is_unmet(const property& p) noexcept {
    const bool must_hold_once =
        p.kind == property_kind::always || p.kind == property_kind::sometimes || p.kind == property_kind::reachable;
    return must_hold_once && p.held == 0;
}

bool may_fail(property_kind kind) noexcept { return kind == property_kind::sometimes; }

}  // namespace

namespace detail {

property_record::property_record(property_kind of_kind,
                                 const char* of_name,
                                 const char* in_file,
                                 unsigned in_line) noexcept
    : kind(of_kind),
      name(of_name),
      file(in_file),
      line(in_line),
      next(all.exchange(this, weft::detail::acq_rel)) {}  // pairs with properties()

void note(property_record& r, bool holds) noexcept {
    (holds ? r.held : r.failed).fetch_add(1, weft::detail::relaxed);  // relaxed: a count
    if (holds || may_fail(r.kind)) return;
    auto* run = controlled_run::of_caller();
    if (run == nullptr) return;
    run->fail(verdict::failed, std::string(r.kind == property_kind::unreachable ? "reached: " : "does not hold: ") +
                                   r.name + " (" + r.file + ":" + std::to_string(r.line) + ")");
}

}  // namespace detail

std::vector<property> properties() {
    std::vector<property> found;
    // acquire: pairs with the constructor
    for (const property_record* r = all.load(weft::detail::acquire); r != nullptr; r = r->next)
        found.insert(found.begin(), as_value(*r));
    return found;
}

std::vector<property> unmet_properties() {
    std::vector<property> found = properties();
    std::erase_if(found, [](const property& p) { return !is_unmet(p); });
    return found;
}

}  // namespace weft::sim
