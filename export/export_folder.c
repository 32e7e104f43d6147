// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Records as CSV in a folder: one file for each aspect, made with its first record. */
#include "base/grow.h"
#include "export/export_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct file {
    char name[DICT_NAME_MAX + 1]; /* of its aspect */
    FILE *out;
    struct csv *csv;
};

struct export_folder {
    const char *dir;
    const struct model *model;
    const struct record_filter *filter;
    bool ordered;
    size_t count, capacity, last; /* last: the file of the record before */
    struct file *files;
};

struct export_folder *export_folder_new(const char *dir, const struct model *m, const struct record_filter *filter,
                                        bool ordered)
{
    struct export_folder *f = calloc(1, sizeof *f);
    if (f)
        *f = (struct export_folder){.dir = dir, .model = m, .filter = filter, .ordered = ordered};
    return f;
}

/*
 * The name of an aspect may hold ':', which some file systems do not take; '-' is in no such name. Where a file system
 * takes two names for one because they differ in capital letters alone, the second gets a number.
 */
static int make_file(const struct export_folder *f, const char *aspect, FILE **out)
{
    char name[DICT_NAME_MAX + 1], path[PATH_MAX];
    snprintf(name, sizeof name, "%s", aspect);
    for (char *colon = name; (colon = strchr(colon, ':')) != NULL;)
        *colon = '-';
    for (size_t i = 1; i <= f->count + 2; i++) {
        int n = i == 1 ? snprintf(path, sizeof path, "%s/%s.csv", f->dir, name)
                       : snprintf(path, sizeof path, "%s/%s-%zu.csv", f->dir, name, i);
        if (n >= (int)sizeof path)
            return errno = ENAMETOOLONG, BEZEL_EINVAL;
        *out = fopen(path, "wxe");
        if (*out || errno != EEXIST)
            break;
    }
    return *out ? 0 : err_from_errno(errno);
}

static int open_file(struct export_folder *f, const char *aspect)
{
    if (!grow_list(&f->files, &f->capacity, f->count, sizeof *f->files))
        return BEZEL_ENOMEM;
    struct file *new = &f->files[f->count];
    *new = (struct file){.out = NULL};
    snprintf(new->name, sizeof new->name, "%s", aspect);
    int err = make_file(f, aspect, &new->out);
    if (err)
        return err;
    struct record_filter filter = *f->filter;
    filter.aspect = new->name; /* for the columns alone; it has no character that a glob knows */
    err = csv_open(new->out, f->model, &filter, f->ordered, true, &new->csv);
    f->last = f->count++; /* it is closed in any case */
    return err;
}

static int put(void *to, const struct record_item *item)
{
    struct export_folder *f = to;
    const char *aspect = item->aspect->name;
    size_t i = f->last;
    if (f->count == 0 || strcmp(f->files[i].name, aspect) != 0)
        for (i = 0; i < f->count && strcmp(f->files[i].name, aspect) != 0; i++)
            ;
    int err = i == f->count ? open_file(f, aspect) : 0;
    if (err)
        return err;
    f->last = i;
    csv_packet(f->files[i].csv, item->process, item->packet);
    csv_record(f->files[i].csv, item);
    return ferror(f->files[i].out) ? BEZEL_ESYS : 0;
}

static void forget(void *to, const struct model *m)
{
    struct export_folder *f = to;
    f->model = m;
    for (size_t i = 0; i < f->count; i++)
        csv_forget(f->files[i].csv);
}

static uint64_t left_out(const void *to)
{
    const struct export_folder *f = to;
    uint64_t sum = 0;
    for (size_t i = 0; i < f->count; i++)
        sum += csv_left_out(f->files[i].csv);
    return sum;
}

const struct export_sink export_folder_sink = {put, forget, left_out, false};

int export_folder_close(struct export_folder *f)
{
    int err = 0;
    for (size_t i = 0; f && i < f->count; i++) {
        csv_close(f->files[i].csv);
        bool failed = ferror(f->files[i].out);
        if ((fclose(f->files[i].out) != 0 || failed) && !err)
            err = BEZEL_ESYS;
    }
    if (f)
        free(f->files);
    free(f);
    return err;
}
