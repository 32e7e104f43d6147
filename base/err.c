// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/err.h"

#include <errno.h>

const char *err_text(int err)
{
    switch (err) {
    case BEZEL_OK:
        return "success";
#define BEZEL_ERR_CASE(name, number, text)                                                                             \
    case BEZEL_##name:                                                                                                 \
        return text;
        BEZEL_ERR_MAP(BEZEL_ERR_CASE)
#undef BEZEL_ERR_CASE
    default:
        return "unknown error";
    }
}

int err_from_errno(int sys)
{
    switch (sys) {
    case 0:
        return BEZEL_OK;
    case EINVAL:
        return BEZEL_EINVAL;
    case ENOMEM:
        return BEZEL_ENOMEM;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return BEZEL_ENOSPC;
    case ENOENT:
        return BEZEL_ENOENT;
    case EADDRINUSE:
    case EBUSY:
        return BEZEL_EBUSY;
    case EPERM:
    case EACCES:
    case EROFS:
        return BEZEL_EPERM;
    case EAGAIN:
        return BEZEL_EAGAIN;
    case ETIMEDOUT:
        return BEZEL_ETIMEDOUT;
    default:
        return BEZEL_ESYS;
    }
}
