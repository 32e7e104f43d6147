// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "common.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const struct option server_options[] = {
    {"size", required_argument, NULL, 's'},
    {"fps", required_argument, NULL, 'f'},
    {"codec", required_argument, NULL, 'c'},
    {"input", required_argument, NULL, 'i'},
    {"group", required_argument, NULL, 'g'},
    {"port", required_argument, NULL, 'p'},
    {"interface", required_argument, NULL, 'I'},
    {"ttl", required_argument, NULL, 'T'},
    {"frames", required_argument, NULL, 'n'},
    {"seconds", required_argument, NULL, 't'},
    {"dump", required_argument, NULL, 'd'},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const struct option client_options[] = {
    {"size", required_argument, NULL, 's'},
    {"codec", required_argument, NULL, 'c'},
    {"group", required_argument, NULL, 'g'},
    {"port", required_argument, NULL, 'p'},
    {"interface", required_argument, NULL, 'I'},
    {"frames", required_argument, NULL, 'n'},
    {"seconds", required_argument, NULL, 't'},
    {"dump", required_argument, NULL, 'd'},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void help(const char *program, bool server)
{
    printf("usage: %s [option]...\n\n%s\n\n", program,
           server ? "Captures video frames, shows them to itself, compresses them and multicasts them."
                  : "Receives the video of videoconf-server, decompresses it and shows it off screen.");
    if (server)
        fputs("  --fps N          frames a second, 1 to 240 (30)\n"
              "  --input FILE     frames of a video file, played again and again (a moving test pattern)\n"
              "  --codec NAME     encoder of FFmpeg without delay: mpeg4, mjpeg, mpeg2video ... (mpeg4)\n"
              "  --size WxH       size of the video, even numbers from 16 to 1920x1088 (320x240)\n"
              "  --ttl N          0: to this machine, 1: to its network, up to 255: beyond routers (0; 1 with "
              "--interface)\n",
              stdout);
    else
        fputs("  --codec NAME     the codec to accept (mpeg4)\n"
              "  --size WxH       size of the display, even numbers from 16 to 1920x1088 (320x240)\n",
              stdout);
    fputs("  --group ADDRESS  IPv4 multicast group (239.192.66.90)\n"
          "  --port N         UDP port (23970)\n"
          "  --interface NAME the network, as of `ip -br link` (lo: this machine alone)\n"
          "  --frames N       end after N frames\n"
          "  --seconds N      end after N seconds; without either: until SIGTERM or SIGINT\n"
          "  --dump FILE      write the last frame shown to FILE, as PPM\n"
          "  --verbose        say on stderr what happens\n"
          "  --help           this text\n",
          stdout);
}

/* Parses all of `text` as a number from min to max; false where it is none. */
static bool number(const char *text, int64_t min, int64_t max, int64_t *value)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    *value = v;
    return errno == 0 && end != text && *end == '\0' && v >= min && v <= max;
}

static bool size(const char *text, int *width, int *height)
{
    char rest;
    if (sscanf(text, "%5dx%5d%c", width, height, &rest) != 2)
        return false;
    return *width >= SIZE_MIN && *width <= WIDTH_MAX && *width % 2 == 0 && *height >= SIZE_MIN &&
           *height <= HEIGHT_MAX && *height % 2 == 0;
}

static bool multicast_group(const char *text)
{
    struct in_addr address;
    return inet_pton(AF_INET, text, &address) == 1 && IN_MULTICAST(ntohl(address.s_addr));
}

/* Takes one option; false where its value is wrong. */
static bool take(struct options *o, int option, const char *value)
{
    int64_t v;
    switch (option) {
    case 's':
        return size(value, &o->width, &o->height);
    case 'f':
        return number(value, 1, FPS_MAX, &v) && (o->fps = (int)v);
    case 'p':
        return number(value, 1, UINT16_MAX, &v) && (o->port = (int)v);
    case 'n':
        return number(value, 1, INT32_MAX, &o->frames);
    case 't':
        return number(value, 1, INT32_MAX, &o->seconds);
    case 'g':
        o->group = value;
        return multicast_group(value);
    case 'I':
        o->interface = value;
        o->ttl = o->ttl < 0 ? 1 : o->ttl;
        return true;
    case 'T':
        return number(value, 0, UINT8_MAX, &v) && (o->ttl = (int)v) >= 0;
    case 'c':
        o->codec = value;
        return true;
    case 'i':
        o->input = value;
        return true;
    case 'd':
        o->dump = value;
        return true;
    default:
        o->verbose = true;
        return true;
    }
}

enum options_result options_read(struct options *o, bool server, int argc, char **argv)
{
    *o = (struct options){
        .program = server ? "videoconf-server" : "videoconf-client",
        .width = 320,
        .height = 240,
        .fps = 30,
        .codec = "mpeg4",
        .group = "239.192.66.90",
        .port = 23970,
        .interface = "lo",
        .ttl = -1,
    };
    const struct option *known = server ? server_options : client_options;
    int option, index;
    while ((option = getopt_long(argc, argv, "", known, &index)) != -1) {
        if (option == 'h') {
            help(o->program, server);
            return OPTIONS_HELP;
        }
        if (option == '?') /* getopt_long() has said why */
            return OPTIONS_WRONG;
        if (!take(o, option, optarg)) {
            fprintf(stderr, "%s: --%s %s: not in the range that --help gives\n", o->program, known[index].name, optarg);
            return OPTIONS_WRONG;
        }
    }
    if (o->ttl < 0)
        o->ttl = 0;
    if (optind < argc) {
        fprintf(stderr, "%s: %s: an argument that is no option; see --help\n", o->program, argv[optind]);
        return OPTIONS_WRONG;
    }
    return OPTIONS_RUN;
}
