// connecting.cc: see connecting.h.
#include "postgres/connecting.h"

#include <cstdlib>
#include <map>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/net/resolve.h>
#include <weft/postgres/error.h>
#include <weft/wait_fd.h>

namespace weft::postgres::detail {

namespace {

using parameters = std::map<std::string, std::string>;

parameters parse(const std::string& conninfo) {
    if (conninfo.find('\0') != std::string::npos)
        throw std::system_error(errc::bad_conninfo, "weft: PostgreSQL: conninfo has a zero byte");
    char* complaint = nullptr;
    PQconninfoOption* const all = PQconninfoParse(conninfo.c_str(), &complaint);
    if (all == nullptr) {
        const std::string text = complaint == nullptr ? "no memory" : complaint;
        PQfreemem(complaint);
        throw std::system_error(errc::bad_conninfo, "weft: PostgreSQL: " + text);
    }
    parameters given;
    for (const PQconninfoOption* o = all; o->keyword != nullptr; ++o) {
        if (o->val != nullptr) given.emplace(o->keyword, o->val);
    }
    PQconninfoFree(all);
    return given;
}

// Like libpq: returns the parameter, or else the environment variable.
std::string value_or_variable(const parameters& given, const char* keyword, const char* variable) {
    if (const auto found = given.find(keyword); found != given.end()) return found->second;
    const char* const value = std::getenv(variable);
    return value == nullptr ? std::string() : std::string(value);
}

// "a,b" has two parts; "," has two empty parts.
std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> parts(1);
    for (const char c : list) {
        if (c == ',') {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

bool is_name(const std::string& host) { return !host.empty() && host.front() != '/' && host.front() != '@'; }

std::string address_of(const weft::net::endpoint& e) {
    const std::string both = e.to_string();
    const std::string address = both.substr(0, both.rfind(':'));
    return address.starts_with('[') ? address.substr(1, address.size() - 2) : address;
}

// Lists of libpq's parameters, with one element per host. libpq tries the hosts in order.
struct host_lists {
    std::string host;
    std::string hostaddr;
    std::string port;
    bool empty = true;

    void add(const std::string& h, const std::string& address, const std::string& p) {
        for (auto [list, part] : {std::pair(&host, &h), std::pair(&hostaddr, &address), std::pair(&port, &p)}) {
            if (!empty) *list += ',';
            *list += *part;
        }
        empty = false;
    }
};

// Throws the error of the first failed lookup if no host remains.
host_lists look_up(const std::vector<std::string>& hosts, const std::vector<std::string>& ports) {
    host_lists found;
    std::error_code why;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        const std::string& port = ports.size() == 1 ? ports.front() : ports.at(i);
        if (!is_name(hosts[i])) {
            found.add(hosts[i], "", port);
            continue;
        }
        std::error_code ec;
        for (const weft::net::endpoint& e : weft::net::resolve(hosts[i], 0, ec)) {
            found.add(hosts[i], address_of(e), port);
        }
        if (ec && !why) why = ec;
    }
    if (found.empty) {
        throw std::system_error(errc::could_not_connect,
                                "weft: PostgreSQL: no address for " + hosts.front() + ": " + why.message());
    }
    return found;
}

void look_up_names(parameters& given) {
    if (!value_or_variable(given, "hostaddr", "PGHOSTADDR").empty()) return;
    const std::vector<std::string> hosts = split(value_or_variable(given, "host", "PGHOST"));
    const std::vector<std::string> ports = split(value_or_variable(given, "port", "PGPORT"));
    if (ports.size() != 1 && ports.size() != hosts.size())
        throw std::system_error(errc::bad_conninfo,
                                "weft: PostgreSQL: the number of ports must be one, or that of the hosts");
    const host_lists found = look_up(hosts, ports);
    given["host"] = found.host;
    given["hostaddr"] = found.hostaddr;
    given["port"] = found.port;
}

connection_handle start(const parameters& given) {
    std::vector<const char*> keywords;
    std::vector<const char*> values;
    for (const auto& [keyword, value] : given) {
        keywords.push_back(keyword.c_str());
        values.push_back(value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    connection_handle c(PQconnectStartParams(keywords.data(), values.data(), 0));
    if (!c) throw std::bad_alloc();
    return c;
}

}  // namespace

std::string without_line_end(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

connection_handle connect(const std::string& conninfo) {
    parameters given = parse(conninfo);
    look_up_names(given);
    given.emplace("gssencmode",
                  "disable");  // with Kerberos libpq would block; conninfo can ask for it
    connection_handle c = start(given);
    PostgresPollingStatusType wants =
        PQstatus(c.get()) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
    for (;;) {
        switch (wants) {
            case PGRES_POLLING_OK:
                return c;
            case PGRES_POLLING_READING:
                weft::wait_fd(PQsocket(c.get()), weft::fd_events::readable);
                break;
            case PGRES_POLLING_WRITING:
                weft::wait_fd(PQsocket(c.get()), weft::fd_events::writable);
                break;
            default:
                throw std::system_error(errc::could_not_connect,
                                        "weft: PostgreSQL: " + without_line_end(PQerrorMessage(c.get())));
        }
        wants = PQconnectPoll(c.get());
    }
}

}  // namespace weft::postgres::detail
