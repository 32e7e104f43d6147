// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/program_aspects.h"

#include "base/file.h"

#include <ctype.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAM_BYTES = 1 << 30 };

struct program_file {
    const char *data;
    size_t size;
};

/* `count` objects of `size` bytes at `offset`; NULL where the file does not have them all. */
static const void *part(const struct program_file *f, uint64_t offset, uint64_t count, size_t size)
{
    bool there = offset <= f->size && count <= (f->size - offset) / size && offset % sizeof(uint32_t) == 0;
    return there ? f->data + offset : NULL;
}

/*
 * Adds the name behind `begin` in `symbol`, once. C++ has the length of the whole name in front:
 * L19bezel_register_tickEv. What a compiler adds begins with a point.
 */
static void add(const char *symbol, const char *begin, char (*names)[PROGRAM_ASPECTS_NAME], size_t *count)
{
    const char *at = strstr(symbol, begin);
    if (!at || *count == PROGRAM_ASPECTS_MAX)
        return;
    size_t digits = 0, n = strlen(begin), length = strcspn(at, ".");
    while (at - digits > symbol && isdigit((unsigned char)at[-(ptrdiff_t)digits - 1]))
        digits++;
    if (digits > 0) {
        unsigned long whole = strtoul(at - digits, NULL, 10);
        length = whole < length ? whole : length;
    } else if (at > symbol)
        return;
    if (length <= n || length - n >= PROGRAM_ASPECTS_NAME)
        return;
    char *name = names[*count];
    memcpy(name, at + n, length - n);
    name[length - n] = '\0';
    for (size_t i = 0; i < *count; i++)
        if (strcmp(names[i], name) == 0)
            return;
    ++*count;
}

static void read_symbols(const struct program_file *f, const ElfW(Shdr) * symbols, const ElfW(Shdr) * strings,
                         struct program_aspects *found)
{
    size_t count = symbols->sh_size / sizeof(ElfW(Sym));
    const ElfW(Sym) *list = part(f, symbols->sh_offset, count, sizeof *list);
    bool there = strings->sh_offset <= f->size && strings->sh_size <= f->size - strings->sh_offset;
    const char *names = there ? f->data + strings->sh_offset : NULL;
    if (!list || !names || strings->sh_size == 0 || names[strings->sh_size - 1] != '\0')
        return;
    for (size_t i = 0; i < count; i++) {
        if (list[i].st_name >= strings->sh_size || (list[i].st_info & 0xf) != STT_FUNC)
            continue;
        add(names + list[i].st_name, "bezel_register_", found->aspects, &found->aspect_count);
        add(names + list[i].st_name, "bezel_knob_register_", found->knobs, &found->knob_count);
    }
}

static void read_elf(const struct program_file *f, struct program_aspects *found)
{
    const ElfW(Ehdr) *head = part(f, 0, 1, sizeof *head);
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        head->e_shentsize != sizeof(ElfW(Shdr)))
        return;
    const ElfW(Shdr) *sections = part(f, head->e_shoff, head->e_shnum, sizeof *sections);
    for (size_t i = 0; sections && i < head->e_shnum; i++)
        if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < head->e_shnum)
            read_symbols(f, &sections[i], &sections[sections[i].sh_link], found);
}

int program_aspects_read(const char *path, struct program_aspects *found)
{
    char *data;
    struct program_file f;
    *found = (struct program_aspects){0};
    int err = file_read(path, PROGRAM_BYTES, &data, &f.size);
    if (err)
        return err;
    f.data = data;
    read_elf(&f, found);
    free(data);
    return 0;
}
