// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A program that records wherever C++ lets code run, before main() and after it; its aspect is declared in
 * early_aspect.cc, which the linker may place before this file or behind it. Each place makes 10 records. The arguments
 * are libraries that it loads and unloads; a + in front asks for a name space of its own.
 */
#include "tests/lib/early.h"

#include <cstdlib>
#include <dlfcn.h>
#include <pthread.h>

static int chosen()
{
    return 1;
}

extern "C" {
int (*early_choose())() /* its name is that of C, as ifunc wants it, if it is not static */
{
    early_record(EARLY_CHOICE);
    return chosen;
}

int early_chosen() __attribute__((ifunc("early_choose")));

static void before_all()
{
    early_record(EARLY_PREINIT);
}
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)() = before_all;

__attribute__((constructor(101))) static void construct()
{
    early_record(EARLY_CONSTRUCTOR);
}

__attribute__((destructor(101))) static void destruct()
{
    early_record(EARLY_DESTRUCTOR);
}

namespace
{

struct recorder {
    int at_end;
    recorder(int at_start, int end) : at_end(end) { early_record(at_start); }
    ~recorder() { early_record(at_end); }
};

recorder global(EARLY_GLOBAL, EARLY_GLOBAL_END);
thread_local recorder local(EARLY_LOCAL, EARLY_LOCAL_END);

void at_exit()
{
    early_record(EARLY_EXIT);
}

void at_thread_end(void *)
{
    early_record(EARLY_KEY);
}

void *thread(void *key)
{
    pthread_setspecific(*static_cast<pthread_key_t *>(key), &local);
    return nullptr;
}

bool load(const char *library)
{
    void *handle = *library == '+' ? dlmopen(LM_ID_NEWLM, library + 1, RTLD_NOW) : dlopen(library, RTLD_NOW);
    return handle && dlclose(handle) == 0;
}

} // namespace

int main(int argc, char **argv)
{
    pthread_key_t key;
    pthread_t other;
    if (atexit(at_exit) != 0 || pthread_key_create(&key, at_thread_end) != 0 ||
        pthread_create(&other, nullptr, thread, &key) != 0 || pthread_join(other, nullptr) != 0)
        return 1;
    (void)&local;
    early_record(EARLY_MAIN + local.at_end - local.at_end);
    for (int i = 1; i < argc; i++)
        if (!load(argv[i]))
            return 2;
    return early_chosen() == 1 ? 0 : 3;
}
