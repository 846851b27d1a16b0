/* SPDX-License-Identifier: MIT
 *
 * The contacts that hold a point, for callers that keep the books themselves (contacts.h).
 */
#pragma once
#include "contact/contacts.h"

/** As mpm_contacts_touch, but lists the contacts that hold the mass, `*holding` of them, and enters nothing: `impulse`
 *  of each is the change of velocity that it causes [m/s]. `books` tell which colliders are near. */
bool mpm_contacts_hold(const mpm_collider *colliders, size_t count, const mpm_contact_point *point,
                       const mpm_faces *faces, double v[3], const mpm_collider_book *books,
                       mpm_node_contact contacts[MPM_MOST_CONTACTS], int *holding);

/** The impulse of such a contact on the mass [N s], in the frame of that mass. */
void mpm_contacts_given(const mpm_contact_point *point, const mpm_node_contact *contact, double given[3]);
