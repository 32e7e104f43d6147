// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/address.h"

#include "base/units.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#define SCHEME "tcp://"

/* `why` of a wrong text; always BEZEL_EINVAL. */
static int wrong(const char **why, const char *sentence)
{
    *why = sentence;
    return BEZEL_EINVAL;
}

static int read_port(const char *text, uint16_t *port, const char **why)
{
    uint64_t number = 0;
    const char *unused;
    bool any = strcmp(text, "*") == 0;
    if (!any && (!isdigit((unsigned char)text[0]) || units_read_count(text, &number, &unused) != 0 || number < 1 ||
                 number > UINT16_MAX))
        return wrong(why, "the port is missing or wrong; expected: tcp://HOST:PORT with 1 .. 65535");
    *port = (uint16_t)number;
    return 0;
}

/* Whether `host` is an IPv6 address, with the name or number of an interface behind '%' or without. */
static bool is_ipv6(const char *host)
{
    char number[INET6_ADDRSTRLEN];
    struct in6_addr address;
    size_t n = strcspn(host, "%");
    if (n >= sizeof number || (host[n] && (!host[n + 1] || strlen(host + n + 1) >= IF_NAMESIZE)))
        return false;
    memcpy(number, host, n);
    number[n] = '\0';
    return inet_pton(AF_INET6, number, &address) == 1;
}

/* Whether the last part of a name is a number, as of no name of a host (RFC 1123, 2.1). A last dot may follow. */
static bool ends_in_number(const char *host)
{
    size_t end = strlen(host), begin;
    end -= host[end - 1] == '.';
    for (begin = end; begin > 0 && isdigit((unsigned char)host[begin - 1]); begin--)
        ;
    return begin < end && (begin == 0 || host[begin - 1] == '.');
}

static bool is_name(const char *host)
{
    for (const char *c = host; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
            return false;
    return host[0] != '\0' && host[0] != '.' && host[0] != '-';
}

static int read_host(const char *host, struct address *address, const char **why)
{
    struct in_addr number;
    if (strcmp(host, "*") == 0)
        address->kind = ADDRESS_ANY;
    else if (inet_pton(AF_INET, host, &number) == 1)
        address->kind = ADDRESS_IPV4;
    else if (strpbrk(host, ":["))
        return wrong(why, "an IPv6 address stands in brackets: tcp://[ADDRESS]:PORT");
    else if (!is_name(host))
        return wrong(why, "the host is missing or wrong; expected: a name, an IPv4 address, or [IPv6 ADDRESS]");
    else if (ends_in_number(host))
        return wrong(why, "the host is no IPv4 address, which has four numbers from 0 to 255");
    else
        address->kind = ADDRESS_NAME;
    return 0;
}

/* Splits what follows the scheme into `host`, as it is written, and `port`. */
static int split(const char *text, char host[ADDRESS_HOST_MAX + 3], const char **port, const char **why)
{
    const char *bracket = text[0] == '[' ? strchr(text, ']') : NULL;
    const char *colon = bracket ? bracket + 1 : strrchr(text, ':');
    if (!colon || *colon != ':')
        return wrong(why, "the port is missing or wrong; expected: tcp://HOST:PORT with 1 .. 65535");
    size_t n = (size_t)(colon - text);
    if (n > ADDRESS_HOST_MAX + (bracket ? 2 : 0))
        return wrong(why, "the host has more than 253 bytes");
    memcpy(host, text, n);
    host[n] = '\0';
    *port = colon + 1;
    return 0;
}

int address_read(const char *text, struct address *address, const char **why)
{
    char host[ADDRESS_HOST_MAX + 3];
    struct address read = {.port = 0};
    const char *port;
    if (strncmp(text, SCHEME, sizeof SCHEME - 1) != 0)
        return wrong(why, "expected: tcp://HOST:PORT");
    int err = split(text + sizeof SCHEME - 1, host, &port, why);
    size_t n = err ? 0 : strlen(host);
    if (!err && host[0] == '[' && host[n - 1] == ']') {
        memcpy(read.host, host + 1, n - 2);
        read.kind = ADDRESS_IPV6;
        if (!is_ipv6(read.host))
            err = wrong(why, "there is no IPv6 address in the brackets");
    } else if (!err) {
        memcpy(read.host, host, n);
        err = read_host(read.host, &read, why);
    }
    if (!err)
        err = read_port(port, &read.port, why);
    if (!err)
        *address = read;
    return err;
}

int address_read_listen(const char *text, struct address *address, const char **why)
{
    char full[ADDRESS_TEXT_MAX];
    bool port = strspn(text, "0123456789*") == strlen(text);
    if (snprintf(full, sizeof full, SCHEME "%s%s", port ? "127.0.0.1:" : "", text) >= (int)sizeof full)
        return wrong(why, "it is too long");
    if (address_read(full, address, why) != 0)
        return wrong(why, "expected: PORT, or HOST:PORT, with 1 .. 65535");
    if (address->kind != ADDRESS_IPV4 && address->kind != ADDRESS_ANY)
        return wrong(why, "expected: an IPv4 address of this machine, or *");
    return 0;
}

const char *address_print(const struct address *address, char text[ADDRESS_TEXT_MAX])
{
    bool six = address->kind == ADDRESS_IPV6;
    int n = snprintf(text, ADDRESS_TEXT_MAX, SCHEME "%s%s%s:", six ? "[" : "", address->host, six ? "]" : "");
    if (address->port)
        snprintf(text + n, ADDRESS_TEXT_MAX - (size_t)n, "%u", address->port);
    else
        snprintf(text + n, ADDRESS_TEXT_MAX - (size_t)n, "*");
    return text;
}

bool address_is_loopback(const struct address *address)
{
    struct in_addr four;
    struct in6_addr six;
    if (address->kind == ADDRESS_IPV4)
        return inet_pton(AF_INET, address->host, &four) == 1 && ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET;
    return address->kind == ADDRESS_IPV6 && inet_pton(AF_INET6, address->host, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}
