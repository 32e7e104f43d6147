// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The adaptation policies, one line each: the name of the constant, that of the function, the word in files and
 * reports, and whether it moves the polling period. Their order is the wire's and the store's: append.
 */
#ifndef BEZEL_CONFIG_POLICIES_H
#define BEZEL_CONFIG_POLICIES_H

#define EXPERIMENT_POLICIES(X)                                                                                         \
    X(NONE, none, "none", false)                                                                                       \
    X(SPP, spp, "spp", false)                                                                                          \
    X(DPP, dpp, "dpp", true)                                                                                           \
    X(DPP_BAND, dpp_band, "dpp-band", true)                                                                            \
    X(ELASTIC, elastic, "elastic", true)                                                                               \
    X(INTEGRAL, integral, "integral", true)                                                                            \
    X(AIMD, aimd, "aimd", true)

#endif
