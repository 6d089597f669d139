// curl.h: handles of libcurl that free themselves, options, and what errors of libcurl mean.
//
// A handle belongs to one thread at a time. driver.h says to which.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include <weft/http/client.h>

namespace weft::http::detail {

template <auto release>
struct released_by {
    void operator()(auto* handle) const noexcept { static_cast<void>(release(handle)); }
};

// CURL, CURLM and CURLSH are void.
using easy_handle = std::unique_ptr<CURL, released_by<&curl_easy_cleanup>>;
using multi_handle = std::unique_ptr<CURLM, released_by<&curl_multi_cleanup>>;
using share_handle = std::unique_ptr<CURLSH, released_by<&curl_share_cleanup>>;
using url_handle = std::unique_ptr<CURLU, released_by<&curl_url_cleanup>>;
using text_handle = std::unique_ptr<char, released_by<&curl_free>>;
using field_list = std::unique_ptr<curl_slist, released_by<&curl_slist_free_all>>;

// Initializes libcurl, once in the process. Throws std::system_error if it cannot be used: it
// failed, or it resolves names in the calling thread.
void start_libcurl();

// What a failed transfer means for its caller.
[[nodiscard]] std::error_code code_of(CURLcode result) noexcept;

// Sets an option. Throws std::bad_alloc, std::invalid_argument with libcurl's words.
template <typename T>
void set(CURL* easy, CURLoption which, T value) {
    static_assert(std::is_same_v<T, long> || std::is_same_v<T, curl_off_t> || std::is_pointer_v<T>,
                  "libcurl's options are long, curl_off_t, or pointers");
    const CURLcode result = curl_easy_setopt(easy, which, value);
    if (result == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
    if (result != CURLE_OK)
        throw std::invalid_argument(std::string("weft: http::client: libcurl refuses an option: ") +
                                    curl_easy_strerror(result));
}

}  // namespace weft::http::detail
