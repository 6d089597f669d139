// set_up.cc: see set_up.h.
#include "http_client/set_up.h"

#include <algorithm>
#include <array>
#include <new>
#include <string_view>
#include <system_error>

#include "http/text.h"
#include "http_client/curl.h"

namespace weft::http::detail {

namespace {

// libcurl calls these in the driver. An exception must not pass through it.

std::size_t field_arrived(char* data, std::size_t size, std::size_t count, void* of) noexcept {
    try {
        static_cast<transfer*>(of)->on_field({data, size * count});
    } catch (const std::bad_alloc&) {
        return 0;  // ends the transfer
    }
    return size * count;
}

std::size_t body_arrived(char* data, std::size_t size, std::size_t count, void* of) noexcept {
    try {
        return static_cast<transfer*>(of)->on_body({data, size * count}) ? size * count : CURL_WRITEFUNC_PAUSE;
    } catch (const std::bad_alloc&) {
        return CURL_WRITEFUNC_ERROR;
    }
}

std::size_t body_wanted(char* to, std::size_t size, std::size_t count, void* of) noexcept {
    return static_cast<transfer*>(of)->on_upload(to, size * count);
}

int connected(void* of, char* /*to*/, char* /*from*/, int /*to_port*/, int /*from_port*/) noexcept {
    static_cast<transfer*>(of)->on_connected();
    return CURL_PREREQFUNC_OK;
}

int progressed(
    void* of, curl_off_t /*to_receive*/, curl_off_t received, curl_off_t /*to_send*/, curl_off_t sent) noexcept {
    static_cast<transfer*>(of)->on_progress(static_cast<uint64_t>(received) + static_cast<uint64_t>(sent));
    return 0;
}

long in_ms(std::chrono::nanoseconds time) noexcept {
    constexpr int64_t most = 24L * 3600 * 1000;
    // 0 would mean libcurl's own default.
    return static_cast<long>(std::clamp<int64_t>((time.count() - 1) / 1'000'000 + 1, 1, most));
}

void add_field(transfer& t, const std::string& line) {
    curl_slist* const list = t.fields_sent.release();
    curl_slist* const longer = curl_slist_append(list, line.c_str());
    t.fields_sent.reset(longer != nullptr ? longer : list);
    if (longer == nullptr) throw std::bad_alloc();
}

bool is_credential(std::string_view name) noexcept {
    constexpr std::array<std::string_view, 5> those = {"Authorization", "Cookie", "Cookie2", "Proxy-Authorization",
                                                       "WWW-Authenticate"};
    return std::any_of(those.begin(), those.end(), [&](std::string_view one) { return same_text(one, name); });
}

bool describes_body(std::string_view name) noexcept {
    return same_text(name.substr(0, 8), "Content-") || same_text(name, "Transfer-Encoding");
}

void set_fields(transfer& t, const client_request& r, const hop& to) {
    for (const auto& [name, value] : r.headers) {
        if (!to.has_credentials && is_credential(name)) continue;
        if (!to.keeps_body && describes_body(name)) continue;
        if (same_text(name, "Content-Length") || same_text(name, "Transfer-Encoding")) continue;  // libcurl's to say
        // libcurl takes "Name:" for a field to leave out.
        add_field(t, std::string(name) + (value.empty() ? ";" : ": " + std::string(value)));
    }
    // What libcurl would add by itself: a pause before large bodies, and a type for them.
    if (!r.headers.has("Expect")) add_field(t, "Expect:");
    if (!r.headers.has("Content-Type")) add_field(t, "Content-Type:");
    set(t.easy.get(), CURLOPT_HTTPHEADER, t.fields_sent.get());
}

void set_method(transfer& t, const client_request& r, const shared_text& body, const hop& to) {
    CURL* const easy = t.easy.get();
    const bool body_is_usual = to.method == "POST" || to.method == "PUT" || to.method == "PATCH";
    if (to.method == "HEAD") {
        set(easy, CURLOPT_NOBODY, 1L);
    } else if (to.keeps_body && r.body_from) {
        set(easy, CURLOPT_UPLOAD, 1L);
        set(easy, CURLOPT_INFILESIZE_LARGE, r.body_size ? static_cast<curl_off_t>(*r.body_size) : curl_off_t{-1});
        set(easy, CURLOPT_CUSTOMREQUEST, to.method.c_str());
    } else if ((to.keeps_body && !body->empty()) || body_is_usual) {
        if (to.keeps_body) t.body = body;
        set(easy, CURLOPT_POST, 1L);
        set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(t.body ? t.body->size() : 0));
        set(easy, CURLOPT_POSTFIELDS, t.body ? t.body->c_str() : "");
        set(easy, CURLOPT_CUSTOMREQUEST, to.method.c_str());
    } else if (to.method != "GET") {
        set(easy, CURLOPT_CUSTOMREQUEST, to.method.c_str());
    }
}

void set_callbacks(transfer& t) {
    CURL* const easy = t.easy.get();
    set(easy, CURLOPT_PRIVATE, static_cast<void*>(&t));
    set(easy, CURLOPT_ERRORBUFFER, t.error_text.data());
    set(easy, CURLOPT_HEADERFUNCTION, &field_arrived);
    set(easy, CURLOPT_HEADERDATA, static_cast<void*>(&t));
    set(easy, CURLOPT_WRITEFUNCTION, &body_arrived);
    set(easy, CURLOPT_WRITEDATA, static_cast<void*>(&t));
    set(easy, CURLOPT_READFUNCTION, &body_wanted);
    set(easy, CURLOPT_READDATA, static_cast<void*>(&t));
    set(easy, CURLOPT_PREREQFUNCTION, &connected);
    set(easy, CURLOPT_PREREQDATA, static_cast<void*>(&t));
    set(easy, CURLOPT_XFERINFOFUNCTION, &progressed);
    set(easy, CURLOPT_XFERINFODATA, static_cast<void*>(&t));
    set(easy, CURLOPT_NOPROGRESS, 0L);
}

long version_for(http_version v) noexcept {
    if (v == http_version::http_1_1) return CURL_HTTP_VERSION_1_1;
    return v == http_version::http_2_direct ? CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE : CURL_HTTP_VERSION_2TLS;
}

void set_options(CURL* easy, const client_options& how) {
    set(easy, CURLOPT_NOSIGNAL, 1L);
    set(easy, CURLOPT_QUICK_EXIT, 1L);  // see driver.h
    set(easy, CURLOPT_FOLLOWLOCATION, 0L);
    set(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    set(easy, CURLOPT_CONNECTTIMEOUT_MS, in_ms(how.connect_time));
    set(easy, CURLOPT_MAXAGE_CONN, static_cast<long>(how.idle_connection_time.count()));
    set(easy, CURLOPT_HTTP_VERSION, version_for(how.version));
    if (how.decompress) set(easy, CURLOPT_ACCEPT_ENCODING, "");  // all that libcurl has
    if (!how.user_agent.empty()) set(easy, CURLOPT_USERAGENT, how.user_agent.c_str());
    if (how.proxy) set(easy, CURLOPT_PROXY, how.proxy->c_str());
    if (!how.ca_file.empty()) set(easy, CURLOPT_CAINFO, how.ca_file.c_str());
    if (!how.verify) {
        set(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        set(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

}  // namespace

std::shared_ptr<transfer> set_up(const client_options& how,
                                 const client_request& r,
                                 const shared_text& body,
                                 const hop& to) {
    auto made = std::make_shared<transfer>(how.buffer_size);
    made->easy.reset(curl_easy_init());
    if (made->easy == nullptr) throw std::bad_alloc();
    set_options(made->easy.get(), how);
    set(made->easy.get(), CURLOPT_URL, to.url.c_str());
    set_callbacks(*made);
    set_method(*made, r, body, to);
    set_fields(*made, r, to);
    return made;
}

}  // namespace weft::http::detail
