/* SPDX-License-Identifier: MIT */
#include "run/loads.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const mpm_history_entry of_load[] = {
    {"impulse", MPM_HISTORY_VECTOR, offsetof(mpm_load_book, impulse)},
    {"work", MPM_HISTORY_NUMBER, offsetof(mpm_load_book, work)},
};
_Static_assert(sizeof(mpm_load_book) == MPM_LOAD_BOOK * sizeof(double), "a book is made of doubles");

mpm_history_section mpm_loads_section(const mpm_loads *loads, size_t k)
{
    if (k >= loads->count)
        return (mpm_history_section){0};
    return (mpm_history_section){of_load, sizeof of_load / sizeof *of_load, &loads->books[k], loads->name[k]};
}

/* The arrays grow together: `capacity` is that of the smallest one. */
static mpm_status reserve(mpm_loads *loads, const mpm_allocator *allocator)
{
    const size_t count = loads->count, room = count + 1;
    size_t names = loads->capacity, books = loads->capacity, impulses = loads->capacity, sums = loads->capacity;
    if (mpm_memory_grow(allocator, (void **)&loads->name, &names, count, room, sizeof *loads->name) ||
        mpm_memory_grow(allocator, (void **)&loads->books, &books, count, room, sizeof *loads->books) ||
        mpm_memory_grow(allocator, (void **)&loads->sums, &sums, count, room, sizeof *loads->sums) ||
        mpm_memory_grow(allocator, (void **)&loads->impulse, &impulses, count, room, sizeof *loads->impulse))
        return MPM_OUT_OF_MEMORY;
    loads->capacity = names < books ? names : books;
    loads->capacity = loads->capacity < impulses ? loads->capacity : impulses;
    loads->capacity = loads->capacity < sums ? loads->capacity : sums;
    return MPM_OK;
}

mpm_status mpm_loads_add(mpm_loads *loads, const mpm_allocator *allocator, mpm_history *history, const char *name)
{
    const int before = mpm_history_length(history);
    const size_t size = strlen(name) + 1;
    if (loads->count == MPM_MOST_LOADS)
        return MPM_TOO_LARGE;
    char *copy = mpm_memory_new(allocator, size, 1);
    if (!copy || reserve(loads, allocator)) {
        mpm_memory_free(allocator, copy);
        return MPM_OUT_OF_MEMORY;
    }
    memcpy(copy, name, size);
    loads->name[loads->count] = copy;
    loads->books[loads->count] = (mpm_load_book){0};
    memset(loads->impulse[loads->count], 0, sizeof *loads->impulse);
    loads->count++;
    if (!mpm_history_fit(history, allocator, before))
        return MPM_OK;
    loads->count--;
    mpm_memory_free(allocator, copy);
    return MPM_OUT_OF_MEMORY;
}

void mpm_loads_clear(mpm_loads *loads, const mpm_allocator *allocator)
{
    for (size_t k = 0; k < loads->count; k++)
        mpm_memory_free(allocator, loads->name[k]);
    mpm_memory_free(allocator, loads->name);
    mpm_memory_free(allocator, loads->books);
    mpm_memory_free(allocator, loads->sums);
    mpm_memory_free(allocator, loads->impulse);
    *loads = (mpm_loads){0};
}

/* A held region moves with its velocity, so this is the place where the work of its impulse is known. */
static void enter_hold(mpm_load_book *book, const double impulse[3], const double *velocity, int dim)
{
    for (int a = 0; a < dim; a++) {
        book->impulse[a] += impulse[a];
        if (!isnan(velocity[a]))
            book->work += impulse[a] * velocity[a];
    }
}

void mpm_loads_sum(mpm_loads *loads, const mpm_forcing *forcing, int dim, ptrdiff_t entries, const double *power)
{
    for (size_t k = 0; k < loads->count; k++) {
        for (int a = 0; a < 3; a++)
            mpm_exact_clear(&loads->sums[k].force[a]);
        mpm_exact_clear(&loads->sums[k].power);
    }
    for (ptrdiff_t e = 0; e < entries; e++) {
        mpm_load_sums *sums = &loads->sums[forcing->load[e]];
        for (int a = 0; a < dim; a++)
            mpm_exact_add(&sums->force[a], forcing->force[e * dim + a]);
        mpm_exact_add(&sums->power, power[e]);
    }
}

void mpm_loads_enter(mpm_loads *loads, const mpm_forcing *forcing, int dim, double dt, double sum[3])
{
    memset(sum, 0, 3 * sizeof *sum);
    for (size_t k = 0; forcing->first && k < loads->count; k++) {
        for (int a = 0; a < dim; a++) {
            const double force = mpm_exact_round(&loads->sums[k].force[a]);
            loads->books[k].impulse[a] += dt * force;
            sum[a] += force;
        }
        loads->books[k].work += dt * mpm_exact_round(&loads->sums[k].power);
    }
    for (size_t k = 0; forcing->holds && k < loads->count; k++)
        enter_hold(&loads->books[k], loads->impulse[k], forcing->velocity + k * (size_t)dim, dim);
}

void mpm_loads_clear_books(mpm_loads *loads)
{
    for (size_t k = 0; k < loads->count; k++)
        loads->books[k] = (mpm_load_book){0};
}
