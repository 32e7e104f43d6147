// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Keys of links, and reports of failed handshakes. */
#include "base/clock.h"
#include "base/log.h"
#include "mdr/link/link_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

bool link_has_keys(void)
{
    return zmq_has("curve") == 1;
}

int link_key_new(struct key_secret *secret)
{
    char public[KEY_Z85 + 1], text[KEY_Z85 + 1];
    if (zmq_curve_keypair(public, text) != 0)
        return err_from_errno(errno);
    int err = key_from_z85(text, secret->bytes);
    explicit_bzero(text, sizeof text);
    return err;
}

int link_key_public(const struct key_secret *secret, uint8_t public[KEY_BYTES])
{
    char text[KEY_Z85 + 1], code[KEY_Z85 + 1];
    key_to_z85(secret->bytes, text);
    int err = zmq_curve_public(code, text) == 0 ? key_from_z85(code, public) : err_from_errno(errno);
    explicit_bzero(text, sizeof text);
    return err;
}

int link_key_write_pair(const char *dir, const char *name, bool replace, struct key_secret *secret,
                        struct key_public *public, char *path, size_t size)
{
    path[0] = '\0';
    int err = link_key_new(secret);
    if (!err)
        err = link_key_public(secret, public->bytes);
    return err ? err : key_write_pair(dir, name, secret, public, replace, path, size);
}

int link_keys_open(const char *own, const char *known, const char *server, struct link_keys *keys)
{
    struct key_public public = {.roles = 0};
    const char *why, *at = own;
    *keys = (struct link_keys){.known = NULL};
    int err = key_read_secret(own, &keys->own, &why);
    if (!err && server) {
        err = key_read_public(at = server, &public, &why);
        memcpy(keys->server, public.bytes, KEY_BYTES);
    }
    if (err)
        log_error("BEZEL-KEYS", "%s: %s", at, why);
    if (!err && known)
        err = keyring_open(known, &keys->known);
    if (err)
        link_keys_close(keys);
    return err;
}

void link_keys_close(struct link_keys *keys)
{
    keyring_free(keys->known);
    keys->known = NULL;
    key_forget(&keys->own);
}

/* Both sides set their secret key; the bound side its ZAP domain, the other its public key and the server's. */
int link_set_keys(struct link *link, const struct link_keys *keys)
{
    uint8_t public[KEY_BYTES];
    char domain[16];
    int yes = 1;
    if (!link_has_keys()) {
        log_error("BEZEL-LINK-CURVE", "this libzmq was built without CURVE: install one that has it, as Debian's has");
        return errno = ENOTSUP, -1;
    }
    if (zmq_setsockopt(link->socket, ZMQ_CURVE_SECRETKEY, keys->own.bytes, KEY_BYTES) != 0)
        return -1;
    link->keyed = true;
    if (!link->bound)
        return link_key_public(&keys->own, public) != 0 ||
                       zmq_setsockopt(link->socket, ZMQ_CURVE_PUBLICKEY, public, KEY_BYTES) != 0 ||
                       zmq_setsockopt(link->socket, ZMQ_CURVE_SERVERKEY, keys->server, KEY_BYTES) != 0
                   ? -1
                   : 0;
    if (link_admit(link, keys->known) != 0)
        return -1;
    int n = snprintf(domain, sizeof domain, "%u", link->domain);
    return zmq_setsockopt(link->socket, ZMQ_CURVE_SERVER, &yes, sizeof yes) != 0 ||
                   zmq_setsockopt(link->socket, ZMQ_ZAP_DOMAIN, domain, (size_t)n) != 0
               ? -1
               : 0;
}

bool link_may(const struct link_frame *frame, enum key_role role)
{
    char text[KEY_ROLES_TEXT];
    if (frame->roles & role)
        return true;
    log_warn("BEZEL-KEY-ROLE",
             "a message from key %s was refused: it needs role %s; add it to `roles:` in that key's file in the folder "
             "of keys",
             frame->key, key_roles_text(role, text));
    return false;
}

/* ---- failed handshakes ------------------------------------------------------------------------------------------- */

/* ZeroMQ reports connections and failed handshakes by events only. They are read until the first frame arrives. */
void link_monitor_open(struct link *link)
{
    static unsigned monitors;
    char address[32];
    int linger = 0;
    pthread_mutex_lock(&link_context_lock);
    snprintf(address, sizeof address, "inproc://monitor-%u", ++monitors);
    link->monitor = zmq_socket(link_context, ZMQ_PAIR);
    pthread_mutex_unlock(&link_context_lock);
    int events = ZMQ_EVENT_CONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                 ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
    if (link->monitor &&
        (zmq_setsockopt(link->monitor, ZMQ_LINGER, &linger, sizeof linger) != 0 ||
         zmq_socket_monitor(link->socket, address, events) != 0 || zmq_connect(link->monitor, address) != 0))
        link_monitor_close(link); /* then failed handshakes are not logged */
}

void link_monitor_close(struct link *link)
{
    if (!link->monitor)
        return;
    zmq_socket_monitor(link->socket, NULL, 0);
    zmq_close(link->monitor);
    link->monitor = NULL;
}

bool link_is_connected(const struct link *link)
{
    return link->connected;
}

bool link_is_refused(const struct link *link)
{
    return link->logged != 0;
}

const char *link_trouble(const struct link *link)
{
    if (link->dial)
        return link_dial_why(link);
    if (link->logged & ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
        return "does not admit our key: put its public part (NAME.pub) into that side's folder of keys";
    if (link->logged == 0)
        return NULL;
    return link->keyed ? "ends connections before the first message: check that a daemon of Bezel listens there, that "
                         "it has keys, and that its public key is the one given here"
                       : "ends connections before the first message: check that a daemon of Bezel listens there; if it "
                         "has keys, they are needed here too";
}

/* An event is two frames: its number (16 bits) with a value, and an address. */
void link_monitor_look(struct link *link)
{
    uint8_t frame[256];
    uint16_t event;
    for (int n; (n = zmq_recv(link->monitor, frame, sizeof frame, ZMQ_DONTWAIT)) >= 0;) {
        if (n < (int)sizeof event + 4) /* an address */
            continue;
        memcpy(&event, frame, sizeof event);
        int more = 0;
        size_t size = sizeof more;
        if (zmq_getsockopt(link->monitor, ZMQ_RCVMORE, &more, &size) != 0 || !more || (link->logged & event))
            continue;
        if (event == ZMQ_EVENT_CONNECTED) {
            link->connected = true;
            link->connected_at = clock_now();
            continue;
        }
        bool is_late = clock_now() - link->connected_at > LINK_HANDSHAKE_MS * CLOCK_MS * 3 / 4;
        if (event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL && is_late)
            continue; /* its time was over: one of the two had no CPU, and ZeroMQ tries again */
        link->logged |= event;
        log_error("BEZEL-LINK-KEYS", "%s %s", link->endpoint, link_trouble(link));
    }
}
