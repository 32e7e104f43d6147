// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/top/top_curses.h"

#include "base/clock.h"
#include "views/top/top_state.h"

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HELD_MAX = 8192, PAIR_RED = 1, PAIR_YELLOW, PAIR_GREEN, PAIR_CYAN };

static SCREEN *screen;
static int held = -1, errors = -1; /* messages meanwhile; standard error itself */

static void hold_messages(void)
{
    (void)!fflush(stderr); /* its errors are not ours */
    held = memfd_create("bezel-top", MFD_CLOEXEC);
    errors = held < 0 ? -1 : dup(STDERR_FILENO);
    if (errors >= 0)
        (void)!dup2(held, STDERR_FILENO);
}

static void release_messages(void)
{
    static char text[HELD_MAX];
    if (errors >= 0) {
        (void)!fflush(stderr);
        (void)!dup2(errors, STDERR_FILENO);
        close(errors);
        ssize_t n = pread(held, text, sizeof text, 0);
        if (n > 0)
            (void)!write(STDERR_FILENO, text, (size_t)n);
    }
    if (held >= 0)
        close(held);
    held = errors = -1;
}

static void begin_colors(void)
{
    const char *none = getenv("NO_COLOR");
    if ((none && *none) || !has_colors() || start_color() == ERR)
        return;
    use_default_colors();
    init_pair(PAIR_RED, COLOR_RED, -1);
    init_pair(PAIR_YELLOW, COLOR_YELLOW, -1);
    init_pair(PAIR_GREEN, COLOR_GREEN, -1);
    init_pair(PAIR_CYAN, COLOR_CYAN, -1);
}

bool top_curses_begin(void)
{
    const char *term = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !term || strcmp(term, "dumb") == 0)
        return false;
    setlocale(LC_CTYPE, ""); /* LC_NUMERIC would change how numbers are written */
    screen = newterm(NULL, stdout, stdin);
    if (!screen)
        return false;
    set_term(screen);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    set_escdelay(25);
    curs_set(0);
    begin_colors();
    hold_messages();
    return true;
}

void top_curses_end(void)
{
    if (!screen)
        return;
    endwin();
    delscreen(screen);
    screen = NULL;
    release_messages();
}

void top_curses_size(unsigned *width, unsigned *height)
{
    int lines = 24, columns = 80;
    getmaxyx(stdscr, lines, columns);
    *width = columns > 0 ? (unsigned)columns : 80;
    *height = lines > 0 ? (unsigned)lines : 24;
}

/* The console of Linux has a font of 256 characters. */
enum top_charset top_curses_charset(void)
{
    const char *term = getenv("TERM");
    bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    return !utf8 ? TOP_ASCII : term && strcmp(term, "linux") == 0 ? TOP_BLOCKS : TOP_BRAILLE;
}

static attr_t attributes(unsigned look)
{
    attr_t a = A_NORMAL;
    a |= look & TOP_BOLD ? A_BOLD : 0;
    a |= look & TOP_REVERSE ? A_REVERSE : 0;
    a |= look & TOP_RED      ? (attr_t)COLOR_PAIR(PAIR_RED)
         : look & TOP_YELLOW ? (attr_t)COLOR_PAIR(PAIR_YELLOW)
         : look & TOP_GREEN  ? (attr_t)COLOR_PAIR(PAIR_GREEN)
         : look & TOP_CYAN   ? (attr_t)COLOR_PAIR(PAIR_CYAN)
                             : 0;
    return a;
}

/* Cells of one look at a time. */
static void show_line(const struct top_glyph *cells, unsigned width, int y)
{
    char text[4 * TOP_WIDTH_MAX + 1];
    for (unsigned x = 0; x < width;) {
        unsigned from = x;
        size_t used = 0;
        for (; x < width && cells[x].look == cells[from].look; x++) {
            size_t n = strlen(cells[x].text);
            memcpy(text + used, cells[x].text, n);
            used += n;
        }
        attrset(attributes(cells[from].look));
        mvaddnstr(y, (int)from, text, (int)used);
    }
}

void top_curses_show(const struct top_grid *g)
{
    for (unsigned y = 0; y < g->height; y++)
        show_line(g->cells + (size_t)y * g->width, g->width, (int)y);
    refresh();
}

static int key_of(int c)
{
    static const struct {
        int curses, key;
    } keys[] = {{KEY_UP, TOP_KEY_UP},         {KEY_DOWN, TOP_KEY_DOWN},     {KEY_LEFT, TOP_KEY_LEFT},
                {KEY_RIGHT, TOP_KEY_RIGHT},   {KEY_PPAGE, TOP_KEY_PAGE_UP}, {KEY_NPAGE, TOP_KEY_PAGE_DOWN},
                {KEY_HOME, TOP_KEY_HOME},     {KEY_END, TOP_KEY_END},       {KEY_BACKSPACE, TOP_KEY_BACKSPACE},
                {127, TOP_KEY_BACKSPACE},     {KEY_ENTER, TOP_KEY_ENTER},   {'\r', TOP_KEY_ENTER},
                {KEY_RESIZE, TOP_KEY_RESIZED}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].curses == c)
            return keys[i].key;
    return c > 0 && c < 256 ? c : TOP_KEY_NONE;
}

int top_curses_key(int64_t wait)
{
    timeout(wait <= 0 ? 0 : (int)((wait + CLOCK_MS - 1) / CLOCK_MS));
    int c = getch();
    return c == ERR ? TOP_KEY_NONE : key_of(c);
}
