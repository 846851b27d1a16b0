/* SPDX-License-Identifier: MIT
 *
 * Nodes at contacts (contact/constraint.h): finds what holds them, and enters the impulses of their contacts. Walls
 * hold the nodes at and beyond a face, colliders the nodes within them. Mirrors and periodic faces act by images alone.
 */
#include <math.h>

#include "base/vector.h"
#include "mpm/kernels/collide.h"
#include "mpm/kernels/nodes.h"

static real *velocities_of(const mpm_grid_pass *pass, ptrdiff_t b)
{
    return block_vec4s(pass->grid->field[MPM_GRID_VELOCITY], b);
}

static bool has_colliders(const mpm_grid_pass *pass, ptrdiff_t b)
{
    return pass->colliders.count && pass->reports[b].approach >= 0;
}

/* Which nodes of a block can be at contacts. A node beyond a mirror may be the image of one at another wall. */
static uint64_t candidates(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const mpm_node_block *block = &pass->grid->blocks[b];
    const bool all = has_colliders(pass, b) || block->fold >= 0 || pass->forcing;
    const real *node = velocities_of(pass, b);
    uint64_t found = all ? UINT64_MAX : nodes_at_walls(block, pass->cells);
    for (int n = 0; n < MPM_BLOCK_NODES; n++)
        if (!(node[4 * n + 3] > 0))
            found &= ~(UINT64_C(1) << n);
    return found;
}

int32_t MPM_KERNEL(constrained_nodes_room)(const mpm_grid_pass *pass, ptrdiff_t b)
{
    return __builtin_popcountll(candidates(pass, b));
}

/* Turns a vector between the frames of the domain and of an image; across a plane of symmetry nothing can press. */
static void turn(double v[3], const mpm_image_node *image)
{
    for (int a = 0; image && a < DIM; a++)
        v[a] = image->planes >> a & 1 ? 0 : image->flips >> a & 1 ? -v[a] : v[a];
}

static void add_contact(mpm_constrained_node *node, mpm_node_contact contact, const mpm_image_node *image,
                        const double v[3])
{
    double length2 = 0;
    if (image && image->planes && !mpm_contacts_turn(&contact, image->planes))
        return;
    turn(contact.normal, image);
    turn(contact.surface, image);
    for (int a = 0; a < 3; a++)
        length2 += contact.normal[a] * contact.normal[a];
    for (int a = 0; a < 3 && length2 > 0; a++)
        contact.normal[a] /= sqrt(length2);
    mpm_constraint_add(node, &contact, v);
}

static void find_contacts(const mpm_grid_pass *pass, ptrdiff_t b, const int64_t at[DIM], const mpm_faces *faces,
                          const mpm_image_node *image, const double v[3], mpm_constrained_node *node)
{
    const mpm_colliders *colliders = &pass->colliders;
    mpm_node_contact contacts[MPM_MOST_CONTACTS];
    double x[3] = {0};
    for (int a = 0; a < DIM; a++)
        x[a] = colliders->lower[a] + (double)at[a] * colliders->dx;
    const int found = mpm_contacts_find(colliders->list, has_colliders(pass, b) ? colliders->count : 0, x,
                                        colliders->books + (size_t)b * colliders->count, faces, colliders->dx,
                                        contacts);
    for (int c = 0; c < found; c++)
        add_contact(node, contacts[c], image, v);
}

/* The components that regions hold come before all contacts. */
static void find_holds(const mpm_grid_pass *pass, ptrdiff_t b, int n, const mpm_image_node *image, const double v[3],
                       mpm_constrained_node *node)
{
    const real *holds = field_nodes(pass->grid, MPM_GRID_HOLDS, b) + 4 * n;
    for (int a = 0; a < DIM; a++) {
        if (!(holds[a] > 0))
            continue;
        const int region = (int)holds[a] - 1;
        mpm_node_contact contact = {.contact = MPM_SLIP, .collider = MPM_HELD_BY_REGION - region};
        contact.normal[a] = 1;
        contact.surface[a] = pass->forcing->velocity[region * DIM + a];
        add_contact(node, contact, image, v);
    }
}

void MPM_KERNEL(constrained_nodes_find)(const mpm_grid_pass *pass, const mpm_constrained_nodes *list, ptrdiff_t b)
{
    const mpm_node_block *block = &pass->grid->blocks[b];
    const real *node = velocities_of(pass, b);
    mpm_constrained_node *next = list->nodes + list->first[b];
    mpm_faces faces = MPM_KERNEL(collide_faces)(&pass->colliders, pass->walls, pass->cells);
    for (uint64_t left = candidates(pass, b); left; left &= left - 1) {
        const int n = __builtin_ctzll(left);
        const mpm_image_node *image = image_of(pass->grid, b, n);
        int64_t at[DIM];
        double v[3] = {0};
        node_coordinates(block, n, at);
        for (int a = 0; a < DIM; a++) {
            v[a] = (double)node[4 * n + a];
            at[a] = image ? image->at[a] : at[a];
        }
        *next = (mpm_constrained_node){.node = n, .rounding = mpm_constraint_rounding(REAL_IS_FLOAT)};
        faces.held = faces_that_hold(at, pass->walls, pass->cells);
        if (pass->forcing)
            find_holds(pass, b, n, image, v, next);
        if (next->contacts < DIM)
            find_contacts(pass, b, at, &faces, image, v, next);
        if (!next->contacts)
            continue;
        mpm_constraint_fix(next, DIM);
        next++;
    }
    list->count[b] = (int32_t)(next - list->nodes) - list->first[b];
}

/* Revises a node of a step that was solved for its middle. Its contacts are those of the end: `v`, extrapolated to
 * there, and the impulses of the whole step, halved as the friction in the solve is. What stops an impact in mid step,
 * doubled, is twice the impulse of the impact. */
static bool revise_end(mpm_constrained_node *node, const double v[3], double m, double tolerance)
{
    mpm_constrained_node end = *node;
    double given[3] = {v[0], v[1], v[2]};
    mpm_constraint_finish(&end, given, m);
    for (int c = 0; c < end.contacts; c++)
        for (int a = 0; a < 3; a++)
            end.contact[c].impulse[a] *= 0.5;
    const bool changed = mpm_constraint_revise(&end, DIM, given, m, tolerance);
    for (int c = 0; c < end.contacts; c++)
        memcpy(end.contact[c].impulse, node->contact[c].impulse, sizeof end.contact[c].impulse);
    *node = end;
    return changed;
}

int32_t MPM_KERNEL(constrained_nodes_revise)(const mpm_grid_pass *pass, const mpm_constrained_nodes *list, ptrdiff_t b,
                                             double tolerance)
{
    const real *node = velocities_of(pass, b), *guess = block_vec4s(pass->grid->field[MPM_GRID_GUESS], b);
    int32_t changed = 0;
    for (int32_t i = list->first[b]; i < list->first[b] + list->count[b]; i++) {
        mpm_constrained_node *at = &list->nodes[i];
        double v[3] = {0};
        for (int a = 0; a < DIM; a++)
            v[a] = (double)node[4 * at->node + a];
        const double m = (double)guess[4 * at->node + 3];
        if (pass->scheme.midpoint) {
            const real *before = block_vec4s(pass->grid->field[MPM_GRID_BEFORE], b) + 4 * at->node;
            for (int a = 0; a < DIM; a++)
                v[a] += v[a] - (double)before[a];
            changed += revise_end(at, v, m, tolerance);
        } else {
            changed += mpm_constraint_revise(at, DIM, v, m, tolerance);
        }
    }
    return changed;
}

/* An image gets its share of the impulse on the node. What it gets along the normal of a mirror is not the mirror's. */
void MPM_KERNEL(constrained_nodes_enter)(const mpm_grid_pass *pass, const mpm_constrained_nodes *list, ptrdiff_t b)
{
    const mpm_node_block *block = &pass->grid->blocks[b];
    const real *node = velocities_of(pass, b), *guess = block_vec4s(pass->grid->field[MPM_GRID_GUESS], b);
    double *wall = pass->reports[b].impulse;
    if (pass->forcing)
        memset(pass->hold_impulses + (size_t)b * pass->loads, 0, pass->loads * sizeof *pass->hold_impulses);
    for (int32_t i = list->first[b]; i < list->first[b] + list->count[b]; i++) {
        const mpm_constrained_node *at = &list->nodes[i];
        const mpm_image_node *image = image_of(pass->grid, b, at->node);
        const double share = (double)node[4 * at->node + 3] / (double)guess[4 * at->node + 3];
        int64_t own[DIM];
        double x[3] = {0}, v[3] = {0}, heat = 0;
        node_coordinates(block, at->node, own);
        for (int a = 0; a < DIM; a++) {
            x[a] = pass->colliders.lower[a] + (double)own[a] * pass->colliders.dx;
            v[a] = (double)node[4 * at->node + a];
        }
        for (int c = 0; c < at->contacts; c++) {
            const mpm_node_contact *contact = &at->contact[c];
            const double pressure = mpm_dot3(contact->impulse, contact->normal);
            double impulse[3];
            heat += mpm_contacts_heat(contact, v);
            for (int a = 0; a < 3; a++) {
                impulse[a] = share * (contact->impulse[a] + pressure * contact->across[a]);
                wall[a] -= image && image->normals >> a & 1 ? impulse[a] : 0;
                wall[a] += contact->collider == MPM_HELD_BY_WALL ? impulse[a] : 0;
                if (contact->collider <= MPM_HELD_BY_REGION)
                    pass->hold_impulses[(size_t)b * pass->loads + (size_t)(MPM_HELD_BY_REGION - contact->collider)]
                                       [a] += impulse[a];
            }
            if (contact->collider >= 0)
                mpm_collider_enter(
                    &pass->colliders.books[(size_t)b * pass->colliders.count + (size_t)contact->collider],
                    &pass->colliders.list[contact->collider], x, impulse);
        }
        if (pass->rubs && heat > 0)
            rub_node(pass, b, at->node, node[4 * at->node + 3], heat / (double)guess[4 * at->node + 3]);
    }
}
