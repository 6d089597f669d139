// urls.cc: see urls.h. By libcurl's parser, so that the checks and the transfer read the same.
#include "http_client/urls.h"

#include <new>
#include <system_error>

#include "http/text.h"
#include "http_client/curl.h"

namespace weft::http::detail {

namespace {

url_handle new_url() {
    url_handle made(curl_url());
    if (made == nullptr) throw std::bad_alloc();
    return made;
}

std::string part_of(CURLU* url, CURLUPart which, unsigned flags = 0) {
    char* text = nullptr;
    if (curl_url_get(url, which, &text, flags) != CURLUE_OK) return {};
    const text_handle owner(text);
    return text;
}

[[noreturn]] void throw_bad_url(const std::string& url, const char* why) {
    throw std::system_error(client_errc::bad_url, "weft: http::client: the URL \"" + url + "\": " + why);
}

// Sets the URL, relative to what url already is.
void parse(CURLU* url, const std::string& text) {
    if (const CURLUcode result = curl_url_set(url, CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME);
        result != CURLUE_OK) {
        if (result == CURLUE_OUT_OF_MEMORY) throw std::bad_alloc();
        throw_bad_url(without_password(text), curl_url_strerror(result));
    }
    const std::string scheme = part_of(url, CURLUPART_SCHEME);
    if (scheme != "http" && scheme != "https")
        throw_bad_url(without_password(text), "its scheme is neither http nor https");
}

}  // namespace

void check_url(const std::string& url) {
    if (url.find('\0') != std::string::npos) throw_bad_url(url.substr(0, url.find('\0')), "it has a NUL character");
    parse(new_url().get(), url);
}

std::string redirect_target(const std::string& from, const std::string& location) {
    const url_handle url = new_url();
    parse(url.get(), from);
    parse(url.get(), location);
    return part_of(url.get(), CURLUPART_URL);
}

bool same_origin(const std::string& a, const std::string& b) {
    const url_handle first = new_url();
    const url_handle second = new_url();
    parse(first.get(), a);
    parse(second.get(), b);
    for (const CURLUPart which : {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT}) {
        if (!same_text(part_of(first.get(), which, CURLU_DEFAULT_PORT),
                       part_of(second.get(), which, CURLU_DEFAULT_PORT)))
            return false;
    }
    return true;
}

std::string without_password(const std::string& url) {
    const std::size_t slashes = url.find("//");
    const std::size_t begin = slashes == std::string::npos ? 0 : slashes + 2;
    const std::size_t end = url.find_first_of("/?#", begin);
    const std::size_t at = url.substr(0, end).rfind('@');
    if (at == std::string::npos || at < begin) return url;
    return url.substr(0, begin) + url.substr(at + 1);
}

}  // namespace weft::http::detail
