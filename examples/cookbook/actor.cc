// actor.cc: state that only one green thread touches. Others send it messages, and wait for the
// answer if there is one.
// See: docs/cookbook/actor.md
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include <weft/weft.h>

namespace {

class bank {
public:
    bank() {
        actor_.go({.name = "bank"}, [inbox = inbox_] {
            std::map<std::string, int> accounts;  // needs no lock
            for (auto&& message : inbox) {
                if (const auto* d = std::get_if<deposit_message>(&message)) accounts[d->account] += d->amount;
                if (auto* b = std::get_if<balance_message>(&message)) b->answer.set_value(accounts[b->account]);
            }
        });
    }

    bank(const bank&) = delete;
    bank& operator=(const bank&) = delete;

    // Handles the messages that have been sent. No other thread may use the bank then.
    ~bank() {
        inbox_.close();
        actor_.wait();
    }

    // Returns when the message is in the inbox.
    void deposit(const std::string& account, int amount) const { inbox_.send(deposit_message{account, amount}); }

    // Waits for the answer: a cancellation point.
    [[nodiscard]] int balance(const std::string& account) const {
        weft::promise<int> answer;
        weft::future<int> result = answer.get_future();
        inbox_.send(balance_message{account, std::move(answer)});
        return result.get();
    }

private:
    struct deposit_message {
        std::string account;
        int amount;
    };

    struct balance_message {
        std::string account;
        weft::promise<int> answer;
    };

    weft::chan<std::variant<deposit_message, balance_message>> inbox_{16};
    weft::wait_group actor_;
};

}  // namespace

int main() {
    return weft::main([] {
        const bank b;
        weft::wait_group customers;
        for (int i = 0; i < 100; ++i) {
            customers.go([&, i] { b.deposit(i % 2 == 0 ? "anna" : "ben", i); });
        }
        customers.wait();
        std::printf("anna has %d, ben has %d\n", b.balance("anna"), b.balance("ben"));
    });
}
