// network.cc: see weft/sim/network.h.
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/go.h>
#include <weft/net/resolve.h>
#include <weft/sim/network.h>

#include "base/assert.h"
#include "sim/controlled_run.h"

namespace weft::sim {

using detail::host_access;

namespace {

controlled_run& current() {
    auto* run = controlled_run::of_caller();
    if (run == nullptr) {
        weft::detail::fatal(
            "weft::sim::network was used outside of a simulation; use it in the function that explore() or run() runs");
    }
    return *run;
}

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument("weft::sim::network: " + why); }

void check_part(const char* name, double part) {
    if (!(part >= 0 && part <= 1)) refuse(std::string(name) + " must be from 0 to 1, and is " + std::to_string(part));
}

unsigned found(std::string_view name) {
    const std::optional<unsigned> host = current().network().computers.find(name);
    if (!host) refuse("there is no host \"" + std::string(name) + "\"; add it with add_host()");
    return *host;
}

}  // namespace

unsigned detail::host_access::number(const host& h) {
    if (h.number_ >= current().network().computers.count())
        refuse("a host of another schedule was used; make hosts in the function that explore() or run() runs");
    return h.number_;
}

std::string host::name() const { return current().network().computers.name(host_access::number(*this)); }

net::endpoint host::address() const { return {hosts::address(number_), 0}; }

void host::go(std::function<void()> f, source_location where) const {
    current().on_host(host_access::number(*this), [&] { weft::go(std::move(f), where); });
}

void host::crash() const {
    if (host_access::number(*this) == 0)
        refuse("\"localhost\" cannot crash, because the test runs there; add a host for what crashes");
    if (!is_up()) return;
    current().note(name() + " crashes");
    current().network().crash(host_access::number(*this));
}

void host::restart() const {
    if (is_up()) refuse("the host \"" + name() + "\" is up; only one that has crashed can restart");
    current().note(name() + " restarts");
    current().network().restart(host_access::number(*this));
}

void host::fail(socket_call what, std::errc error, const call_failures& which) const {
    if (error == std::errc{}) refuse("a call fails with an error, and std::errc{} is none");
    current().network().fail(host_access::number(*this), what, static_cast<int>(error), which);
}

bool host::is_up() const { return current().network().computers.is_up(host_access::number(*this)); }

network::network() { static_cast<void>(current()); }

network::network(const network_options& how) { set(how); }

void network::set(const network_options& how) const {
    if (how.latency.count() < 0) refuse("the latency must not be negative");
    if (how.jitter.count() < 0) refuse("the jitter must not be negative");
    check_part("loss", how.loss);
    check_part("duplication", how.duplication);
    if (how.window == 0) refuse("the window must not be 0, because no byte could be sent");
    current().network().options = how;
}

host network::add_host(std::string_view name) const {
    if (name.empty()) refuse("a host needs a name");
    if (net::endpoint::parse(std::string(name) + ":1")) refuse("a host's name must not be an address");
    const std::optional<unsigned> added = current().network().computers.add(name);
    if (!added) refuse("there is a host \"" + std::string(name) + "\" already");
    return host(*added);
}

host network::local() const { return host(0); }

host network::here() const { return host(current().host_of_caller()); }

host network::find(std::string_view name) const { return host(found(name)); }

void network::partition(const host& a, const host& b) const {
    partition_one_way(a, b);
    partition_one_way(b, a);
}

void network::partition_one_way(const host& from, const host& to) const {
    current().note(from.name() + " no longer reaches " + to.name());
    current().network().computers.cut(host_access::number(from), host_access::number(to));
}

void network::heal(const host& a, const host& b) const {
    current().note(a.name() + " and " + b.name() + " reach each other");
    hosts& all = current().network().computers;
    all.heal(host_access::number(a), host_access::number(b));
    all.heal(host_access::number(b), host_access::number(a));
}

void network::heal() const {
    current().note("all hosts reach each other");
    current().network().computers.heal();
}

net::tcp_listener network::listen(std::string_view host_and_port) const {
    const std::size_t colon = host_and_port.rfind(':');
    if (colon == std::string_view::npos || colon == 0)
        refuse("\"" + std::string(host_and_port) + "\" is not a host and a port; write server:80");
    const std::string_view name = host_and_port.substr(0, colon);
    const std::optional<net::endpoint> at = net::endpoint::parse("0.0.0.0" + std::string(host_and_port.substr(colon)));
    if (!at) refuse("\"" + std::string(host_and_port) + "\" has no port; write server:80");
    const std::optional<unsigned> known = current().network().computers.find(name);
    const host where = known ? host(*known) : add_host(name);
    return current().on_host(host_access::number(where), [&] { return net::tcp_listener(*at); });
}

net::tcp_stream network::dial(std::string_view host_and_port) const { return net::dial(host_and_port); }

network::counts network::so_far() const { return current().network().count; }

}  // namespace weft::sim
