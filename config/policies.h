// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The adaptation policies, one line each: the name of the constant, that of the function, the word in files and
 * reports, and its abilities. The wire and the store number them in this order: append only. Code outside of
 * resmgr/policies/ tests an ability (experiment_policy_can()), never a policy's name.
 */
#ifndef BEZEL_CONFIG_POLICIES_H
#define BEZEL_CONFIG_POLICIES_H

enum policy_ability {
    POLICY_ADAPTS = 1,  /* it reacts to limits */
    POLICY_MOVES = 2,   /* it changes the polling period */
    POLICY_SETTLES = 4, /* its period converges; it reacts to flow limits, sheds load by importance, and turns
                           collection on again while limits are unknown */
    POLICY_RATIONS = 8, /* the node keeps its cpu budget within each sampling interval too */
};

#define EXPERIMENT_POLICIES(X)                                                                                         \
    X(NONE, none, "none", 0)                                                                                           \
    X(SPP, spp, "spp", POLICY_ADAPTS)                                                                                  \
    X(DPP, dpp, "dpp", POLICY_ADAPTS | POLICY_MOVES)                                                                   \
    X(DPP_BAND, dpp_band, "dpp-band", POLICY_ADAPTS | POLICY_MOVES | POLICY_SETTLES)                                   \
    X(ELASTIC, elastic, "elastic", POLICY_ADAPTS | POLICY_MOVES | POLICY_SETTLES | POLICY_RATIONS)                     \
    X(INTEGRAL, integral, "integral", POLICY_ADAPTS | POLICY_MOVES | POLICY_SETTLES)                                   \
    X(AIMD, aimd, "aimd", POLICY_ADAPTS | POLICY_MOVES | POLICY_SETTLES)

#endif
