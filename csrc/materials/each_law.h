/* SPDX-License-Identifier: MIT
 *
 * The file of every law in the list MPM_LAWS, in its order; tests/test_house.py compares the two.
 */
#pragma once
#include "materials/row.h"

#include "materials/fixed_corotated.h"
#include "materials/neo_hookean.h"
#include "materials/fluid.h"
#include "materials/snow.h"
#include "materials/sand.h"
#include "materials/saint_venant_kirchhoff.h"
#include "materials/hencky.h"
#include "materials/mooney_rivlin.h"
#include "materials/von_mises.h"
#include "materials/nacc.h"
#include "materials/drucker_prager.h"
#include "materials/mohr_coulomb.h"
#include "materials/cam_clay.h"
#include "materials/mu_i.h"
#include "materials/herschel_bulkley.h"
#include "materials/viscoelastic.h"
#include "materials/corotated.h"
#include "materials/ogden.h"
#include "materials/fibre_reinforced.h"
#include "materials/johnson_cook.h"
#include "materials/rigid.h"
#include "materials/brittle.h"
#include "materials/von_mises_fracture.h"
#include "materials/johnson_cook_fracture.h"
#include "materials/drucker_prager_fracture.h"
