// curl.cc: see curl.h.
#include "http_client/curl.h"

namespace weft::http::detail {

void start_libcurl() {
    static const CURLcode result = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (result != CURLE_OK) {
        throw std::system_error(client_errc::failed,
                                std::string("weft: http::client: libcurl cannot start: ") + curl_easy_strerror(result));
    }
    if ((curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_ASYNCHDNS) == 0) {
        throw std::system_error(client_errc::failed,
                                "weft: http::client: this libcurl resolves names in the calling thread, which would "
                                "stop all requests; use one that was built with the threaded resolver or c-ares");
    }
}

std::error_code code_of(CURLcode result) noexcept {
    switch (result) {
        case CURLE_OK:
            return {};
        case CURLE_URL_MALFORMAT:
            return client_errc::bad_url;
        case CURLE_COULDNT_RESOLVE_HOST:
        case CURLE_COULDNT_RESOLVE_PROXY:
            return client_errc::could_not_resolve;
        case CURLE_COULDNT_CONNECT:
        case CURLE_INTERFACE_FAILED:
            return client_errc::could_not_connect;
        case CURLE_OPERATION_TIMEDOUT:  // the only time that libcurl is given
            return client_errc::connect_timed_out;
        case CURLE_SSL_CONNECT_ERROR:
        case CURLE_SSL_CIPHER:
        case CURLE_SSL_CACERT_BADFILE:
        case CURLE_SSL_CERTPROBLEM:
        case CURLE_SSL_CRL_BADFILE:
        case CURLE_SSL_ENGINE_INITFAILED:
            return client_errc::tls_failed;
        case CURLE_PEER_FAILED_VERIFICATION:
        case CURLE_SSL_ISSUER_ERROR:
        case CURLE_SSL_INVALIDCERTSTATUS:
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return client_errc::not_trusted;
        case CURLE_GOT_NOTHING:
        case CURLE_RECV_ERROR:
        case CURLE_SEND_ERROR:
        case CURLE_PARTIAL_FILE:
        case CURLE_HTTP2:
        case CURLE_HTTP2_STREAM:
            return client_errc::connection_lost;
        case CURLE_WEIRD_SERVER_REPLY:
        case CURLE_UNSUPPORTED_PROTOCOL:  // HTTP/0.9; the URL has been checked
            return client_errc::bad_reply;
        case CURLE_BAD_CONTENT_ENCODING:
            return client_errc::bad_encoding;
        case CURLE_PROXY:
            return client_errc::proxy_failed;
        case CURLE_OUT_OF_MEMORY:
            return std::make_error_code(std::errc::not_enough_memory);
        default:
            return client_errc::failed;
    }
}

}  // namespace weft::http::detail
