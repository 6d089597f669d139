// client_state.h: what a client and its replies share. It may outlive the client.
#pragma once

#include <memory>

#include <weft/http/client.h>
#include <weft/wait_group.h>

#include "http_client/mailbox.h"

namespace weft::http::detail {

class client_state : public std::enable_shared_from_this<client_state> {
public:
    // Throws as client's constructor.
    static std::shared_ptr<client_state> start(client_options how);

    explicit client_state(client_options with) : how(std::move(with)) {}

    // Ends the driver, and waits for its end.
    void end() noexcept;

    [[nodiscard]] reply send(client_request r);

    const client_options how;
    const std::shared_ptr<mailbox> orders = std::make_shared<mailbox>();

private:
    weft::wait_group driving_;
};

}  // namespace weft::http::detail
