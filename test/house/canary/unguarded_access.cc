// unguarded_access.cc: accesses guarded data without its lock. -Wthread-safety must reject it.
class __attribute__((capability("mutex"))) lock {
public:
    void acquire() __attribute__((acquire_capability())) {}

    void release() __attribute__((release_capability())) {}
};

class counter {
public:
    void add() { ++count_; }

private:
    lock lock_;
    int count_ __attribute__((guarded_by(lock_))) = 0;
};

int main() {
    counter c;
    c.add();
}
