/* SPDX-License-Identifier: MIT
 *
 * Images of nodes (images.h) along one axis, where those of several axes combine. Plain C that is C++, too, for kernels
 * of a GPU.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "contact/walls.h"

/* How far beyond a face particles can touch nodes: they are at most one cell beyond it, drift by one more cell before
 * the next binning, and reach two nodes further. */
enum {
    MPM_IMAGE_REACH = 4,
    MPM_AXIS_IMAGES = 2 * MPM_IMAGE_REACH + 2 /* at most, in a domain of one periodic cell */
};

/** A coordinate of a node along an axis, and the images of the node along it. */
typedef struct mpm_axis_node {
    int64_t at;    /* of its image in the domain */
    bool flipped;  /* is that image reflected? */
    bool plane;    /* is the node on a plane of symmetry? */
    bool mirrored; /* does a mirror act on it? */
    int images;    /* itself included */
    struct {
        int64_t at;
        bool flipped;
    } image[MPM_AXIS_IMAGES]; /* ascending */
} mpm_axis_node;

static inline bool mpm_axis_has_symmetry(const mpm_symmetry *symmetry)
{
    return symmetry->periodic || symmetry->mirror[0] || symmetry->mirror[1];
}

static inline int64_t mpm_axis_floor(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* The image of node `at` of an axis that is in the domain, and whether it is reflected. */
static inline int64_t mpm_axis_into_domain(const mpm_symmetry *symmetry, int64_t at, bool *flipped)
{
    const int64_t cells = symmetry->cells;
    *flipped = false;
    if (symmetry->periodic)
        return at - cells * mpm_axis_floor(at, cells);
    if (symmetry->mirror[0] && symmetry->mirror[1]) {
        at -= 2 * cells * mpm_axis_floor(at, 2 * cells);
        *flipped = at > cells;
        return *flipped ? 2 * cells - at : at;
    }
    *flipped = (symmetry->mirror[0] && at < 0) || (symmetry->mirror[1] && at > cells);
    return !*flipped ? at : symmetry->mirror[0] ? -at : 2 * cells - at;
}

static inline void mpm_axis_add(mpm_axis_node *node, int64_t at, bool flipped)
{
    node->image[node->images].at = at;
    node->image[node->images++].flipped = flipped;
    node->mirrored |= flipped;
}

/* Lists the images in ascending order; those of either orientation repeat after one period. */
static inline void mpm_axis_list(mpm_axis_node *node, const mpm_symmetry *symmetry)
{
    const int64_t cells = symmetry->cells, low = -MPM_IMAGE_REACH, high = cells + MPM_IMAGE_REACH;
    const bool both = symmetry->mirror[0] && symmetry->mirror[1];
    const int64_t period = symmetry->periodic ? cells : both ? 2 * cells : 4 * (high - low);
    const int64_t inside = node->at, mirrored = symmetry->mirror[0] ? -inside : 2 * cells - inside;
    const bool mirrors = (symmetry->mirror[0] || symmetry->mirror[1]) && !node->plane;
    int64_t straight_at = inside + period * -mpm_axis_floor(inside - low, period);
    int64_t mirrored_at = mirrored + period * -mpm_axis_floor(mirrored - low, period);
    while (straight_at <= high || (mirrors && mirrored_at <= high)) {
        if (!mirrors || straight_at < mirrored_at) {
            mpm_axis_add(node, straight_at, false);
            straight_at += period;
        } else {
            mpm_axis_add(node, mirrored_at, true);
            mirrored_at += period;
        }
    }
}

/** Finds the images of node `at` of an axis. Returns whether there can be others, or it is on a plane of symmetry. */
static inline bool mpm_axis_find(mpm_axis_node *node, const mpm_symmetry *symmetry, int64_t at)
{
    node->at = at;
    node->flipped = node->plane = node->mirrored = false;
    node->images = 0;
    if (!mpm_axis_has_symmetry(symmetry) || at < -MPM_IMAGE_REACH || at > symmetry->cells + MPM_IMAGE_REACH) {
        mpm_axis_add(node, at, false);
        return false;
    }
    node->at = mpm_axis_into_domain(symmetry, at, &node->flipped);
    node->plane = (symmetry->mirror[0] && node->at == 0) || (symmetry->mirror[1] && node->at == symmetry->cells);
    mpm_axis_list(node, symmetry);
    node->mirrored |= node->plane;
    return node->plane || node->images > 1;
}
