// page_client.h: reads from the page of a program: weft::observe::page.
//
// Threads: one.
#pragma once

#include <string>

class page_client {
public:
    // url: as page::url() returns it. Without a token, that of the environment variable WEFT_TOKEN
    // is used. Throws std::runtime_error if it is no URL.
    explicit page_client(const std::string& url);

    // The body of the answer to a request for "/api/state". Throws std::runtime_error, which says
    // what the page has answered. Takes ten seconds at most.
    [[nodiscard]] std::string get(const std::string& target) const;

private:
    [[nodiscard]] int connect() const;

    std::string host_;
    std::string port_;
    std::string token_;
};
