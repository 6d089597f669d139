// local_test.c: a pointer with one value for each green thread.
#include "check.h"

enum { gs = 50 };

static int destroyed;

static void destroy(void* value) {
    add(&destroyed, 1);
    free(value);
}

struct keys {
    run_local_key_t* owned;
    run_local_key_t* plain;
    int wrong;
};

static void use_keys(void* argument) {
    struct keys* k = argument;
    CHECK(run_local_get(k->owned) == NULL && run_local_get(k->plain) == NULL);
    int* mine = malloc(sizeof(int));
    CHECK(mine != NULL);
    *mine = (int)run_g_id();
    CHECK_OK(run_local_set(k->owned, mine));
    CHECK_OK(run_local_set(k->plain, &k->wrong));
    for (int i = 0; i < 20; ++i) {
        run_yield();
        CHECK(run_local_get(k->owned) == mine && *mine == (int)run_g_id());
        CHECK(run_local_get(k->plain) == &k->wrong);
    }
    CHECK_OK(run_local_set(k->plain, NULL));
    CHECK(run_local_get(k->plain) == NULL);
}

static void each_has_its_own_and_it_ends_with_it(void) {
    struct keys k = {NULL, NULL, 0};
    run_wait_group_t* group;
    store(&destroyed, 0);
    CHECK_OK(run_local_key_create(&k.owned, destroy));
    CHECK_OK(run_local_key_create(&k.plain, NULL));
    CHECK_OK(run_wait_group_make(&group));
    for (int i = 0; i < gs; ++i) CHECK_OK(run_wait_group_go(group, use_keys, &k));
    CHECK_OK(run_wait_group_wait(group));
    CHECK(load(&destroyed) == gs);  // before the joining thread resumes
    run_wait_group_free(group);
    CHECK_OK(run_local_key_delete(k.owned));
    CHECK_OK(run_local_key_delete(k.plain));
}

static void plain_threads_have_none(void) {
    run_local_key_t* key;
    CHECK_OK(run_local_key_create(&key, NULL));
    CHECK(run_local_get(key) == NULL);
    CHECK_STATUS(RUN_INVALID, run_local_set(key, &key));
    CHECK(run_local_get(key) == NULL);
    CHECK_OK(run_local_key_delete(key));
    CHECK_STATUS(RUN_INVALID, run_local_key_create(NULL, NULL));
    CHECK_STATUS(RUN_INVALID, run_local_key_delete(NULL));
    CHECK_STATUS(RUN_INVALID, run_local_set(NULL, NULL));
    CHECK(run_local_get(NULL) == NULL);
}

static void those_of_main_end_with_the_scheduler(void) {
    run_local_key_t* key;
    store(&destroyed, 0);
    CHECK_OK(run_local_key_create(&key, destroy));
    CHECK_OK(run_scheduler_init());
    CHECK_OK(run_local_set(key, malloc(1)));
    CHECK_OK(run_scheduler_stop());
    CHECK(load(&destroyed) == 1);
    CHECK(run_local_get(key) == NULL);
    CHECK_OK(run_scheduler_init());
    CHECK(run_local_get(key) == NULL);
    CHECK_OK(run_local_set(key, malloc(1)));
    CHECK_OK(run_local_key_delete(key));  // the caller's value goes with it
    CHECK(load(&destroyed) == 2);
    CHECK_OK(run_scheduler_stop());
}

int main(void) {
    RUN_EVERYWHERE(each_has_its_own_and_it_ends_with_it);
    RUN_TEST(plain_threads_have_none);
    RUN_TEST(those_of_main_end_with_the_scheduler);
    return 0;
}
