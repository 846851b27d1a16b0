/* SPDX-License-Identifier: MIT */
/* sources: run/run.c run/march.c run/history.c run/error.c run/store.c run/view.c run/fields.c run/loads.c base/pool.c
 *   base/exact.c base/memory.c base/reduction.c ranks/team.c */
/* A method other than MPM, with a run and a store: a chain of masses on springs, integrated by symplectic Euler. Clock,
 * goal, history, health, error, threads, fields and views are those of every method. */
#include "check.h"
#include "ledger.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "run/march.h"
#include "run/store.h"

/* ---- the method ------------------------------------------------------------------------------------------------- */

enum { X, V, MASS, ID, FIELDS, DIM = 2, TORN = MPM_REASONS, TOO_LONG, STRETCHED = 0, REFUSED, MOST = 64 };

struct springs {
    mpm_run run;
    mpm_common settings;
    mpm_store store;
    double stiffness, length, most; /* of every spring [N/m], [m]; length at which it tears [m] */
    double planned, allowed, dt;    /* automatic step; the longest that is not refused; the one that is taken [s] */
    struct { double time, momentum[3], energy; } books;
    int refreshed, threads; /* number of refreshes; threads of the last run */
};

/* The energy of the spring from mass i to the next; adds `sign` times its force to `force`. */
static double pull(const struct springs *s, ptrdiff_t i, double sign, double *force)
{
    const double *x = (const double *)s->store.rows[X] + DIM * i;
    const double length = hypot(x[2] - x[0], x[3] - x[1]), stretch = length - s->length;
    for (int a = 0; a < DIM; a++)
        force[a] += sign * s->stiffness * stretch * (x[DIM + a] - x[a]) / length;
    return 0.5 * s->stiffness * stretch * stretch;
}

static void accelerate(void *self, ptrdiff_t i, int thread)
{
    const struct springs *s = self;
    double force[DIM] = {0}, *v = (double *)s->store.rows[V] + DIM * i;
    (void)thread;
    if (i > 0)
        pull(s, i - 1, -1, force);
    if (i + 1 < s->store.count)
        pull(s, i, 1, force);
    for (int a = 0; a < DIM; a++)
        v[a] += s->dt * force[a] / ((const double *)s->store.rows[MASS])[i];
}

static void advect(void *self, ptrdiff_t i, int thread)
{
    const struct springs *s = self;
    (void)thread;
    for (int a = 0; a < DIM; a++)
        ((double *)s->store.rows[X])[DIM * i + a] += s->dt * ((const double *)s->store.rows[V])[DIM * i + a];
}

/* Records the history, and looks for springs that are too long. */
static mpm_status look(struct springs *s)
{
    uint8_t torn[MOST] = {0};
    const double *x = s->store.rows[X], *v = s->store.rows[V], *mass = s->store.rows[MASS];
    memset(&s->books, 0, sizeof s->books);
    s->books.time = s->run.time;
    for (ptrdiff_t i = 0; i < s->store.count; i++) {
        double unused[DIM] = {0};
        for (int a = 0; a < DIM; a++) {
            s->books.momentum[a] += mass[i] * v[DIM * i + a];
            s->books.energy += 0.5 * mass[i] * v[DIM * i + a] * v[DIM * i + a];
        }
        s->books.energy += i + 1 < s->store.count ? pull(s, i, 1, unused) : 0;
        torn[i] = i + 1 < s->store.count &&
                  hypot(x[DIM * i + 2] - x[DIM * i], x[DIM * i + 3] - x[DIM * i + 1]) > s->most;
        s->run.health[STRETCHED] += torn[i];
    }
    mpm_error_note(&s->run.error, MPM_UNSTABLE, TORN, s->run.dt);
    mpm_error_add_rows(&s->run.error, torn, s->store.count, 1);
    s->run.suspect = s->run.error.count > 0;
    return s->run.suspect ? MPM_UNSTABLE : MPM_OK;
}

static mpm_status refresh(void *self)
{
    struct springs *s = self;
    s->refreshed++;
    s->threads = mpm_pool_threads(s->run.pool);
    const mpm_status status = mpm_store_read_in(&s->store);
    return status ? status : look(s);
}

static void plan(void *self, mpm_step *step)
{
    step->dt = step->natural = ((struct springs *)self)->planned;
}

static double bound(const void *self)
{
    return 2 * sqrt(((double *)((const struct springs *)self)->store.rows[MASS])[0] /
                    (2 * ((const struct springs *)self)->stiffness));
}

static mpm_status attempt(void *self, const mpm_step *step, mpm_reason *reason)
{
    *reason = step->dt > ((struct springs *)self)->allowed ? TOO_LONG : MPM_NO_REASON;
    return MPM_OK;
}

static mpm_status report(void *self, mpm_reason reason, const mpm_step *step)
{
    return mpm_error_note(&((struct springs *)self)->run.error, MPM_UNSTABLE, reason, step->dt);
}

static mpm_status commit(void *self, const mpm_step *step)
{
    struct springs *s = self;
    s->dt = step->dt;
    mpm_pool_for(s->run.pool, accelerate, s, s->store.count);
    mpm_pool_for(s->run.pool, advect, s, s->store.count);
    mpm_march_tick(&s->run, step);
    const mpm_status status = look(s);
    if (mpm_history_is_due(&s->run.history, s->run.steps))
        mpm_history_record(&s->run.history);
    return status;
}

static void record(void *self)
{
    mpm_history_record(&((struct springs *)self)->run.history);
}

static void finish(void *self, mpm_status status, bool moved)
{
    struct springs *s = self;
    (void)status;
    if (moved)
        mpm_store_outdate_all(&s->store, false);
    mpm_store_refresh(&s->store);
}

#define BOOK(member) offsetof(struct springs, books.member) - offsetof(struct springs, books)
static mpm_history_section section(const void *self, int index)
{
    static const mpm_history_entry entries[] = {{"time", MPM_HISTORY_NUMBER, BOOK(time)},
                                                {"momentum", MPM_HISTORY_VECTOR, BOOK(momentum)},
                                                {"energy", MPM_HISTORY_NUMBER, BOOK(energy)}};
    return index ? (mpm_history_section){0}
                 : (mpm_history_section){entries, 3, &((const struct springs *)self)->books, NULL};
}

static const char *const counters[] = {[STRETCHED] = "stretched", [REFUSED] = "refused", NULL};
static const char *const phases[] = {NULL};
static const mpm_method method = {
    .counters = counters, .refused = REFUSED, .phases = phases, .section = section, .refresh = refresh, .plan = plan,
    .bound = bound, .attempt = attempt, .report = report, .commit = commit, .record = record, .finish = finish};

/* A chain along x; its first spring is stretched by `stretch`. */
static void start(struct springs *s, const mpm_allocator *allocator, int masses, double stretch, int threads)
{
    mpm_field fields[FIELDS] = {
        [X] = {"x", "m", MPM_VECTOR, .state_of = MPM_STATE_OF_ALL, .low = -INFINITY, .high = INFINITY},
        [V] = {"v", "m/s", MPM_VECTOR, .state_of = MPM_STATE_OF_ALL, .low = -INFINITY, .high = INFINITY},
        [MASS] = {"mass", "kg", MPM_SCALAR, .state_of = MPM_STATE_OF_ALL, .low = 0, .high = 10, .initial = 1,
                  .lasting = true},
        [ID] = {"id", "1", MPM_SCALAR, MPM_TYPE_INT64, .lasting = true}};
    *s = (struct springs){.settings = {.dim = DIM, .history = 2, .threads = threads},
                          .stiffness = 100, .length = 1, .most = 3, .planned = 1e-3, .allowed = 1};
    s->run = mpm_run_of(&method, s, allocator, &s->settings, NULL);
    s->store = (mpm_store){.run = &s->run, .real_size = sizeof(double), .fields.dim = DIM};
    assert(!mpm_store_add_fields(&s->store, fields, FIELDS) && !mpm_store_reserve(&s->store, masses));
    mpm_store_add_rows(&s->store, masses);
    for (int i = 0; i < masses; i++)
        ((double *)s->store.rows[X])[DIM * i] = s->length * i + (i ? stretch : 0);
}

static void stop(struct springs *s)
{
    mpm_store_clear(&s->store);
    mpm_run_clear(&s->run);
}

/* ---- the tests -------------------------------------------------------------------------------------------------- */

static mpm_status run(struct springs *s, int64_t steps, double end, double pause)
{
    return mpm_run_advance(&s->run, steps, end, pause, NULL, NULL);
}

static double *view_of(struct springs *s, int field, mpm_view **view)
{
    assert(!mpm_store_get(&s->store, field, view));
    (*view)->touched = true; /* as a live array does */
    return (*view)->data;
}

/* Two masses swing as u = u0 cos(w t), w^2 = 2 k/m: to 3.6e-4 of u0 at this step, 40 times w dt^2 t. */
static void the_clock_ends_at_the_goal(const mpm_allocator *allocator)
{
    struct springs s;
    mpm_view *view;
    start(&s, allocator, 2, 0.1, 1);
    assert(!run(&s, INT64_MAX, 0.5005, INFINITY));
    assert(s.run.time == 0.5005 && s.run.steps == 501 && s.refreshed == 1);
    const double *x = view_of(&s, X, &view), u = x[2] - x[0] - 1;
    assert(fabs(u - 0.1 * cos(sqrt(200) * s.run.time)) < 1e-3);
    assert(!run(&s, 0, INFINITY, INFINITY) && !run(&s, 9, 0.1, INFINITY) && s.run.steps == 501 && s.refreshed == 1);
    stop(&s);
}

static void the_history_has_its_columns(const mpm_allocator *allocator)
{
    struct springs s;
    start(&s, allocator, 3, 0.1, 1);
    assert(!run(&s, 401, INFINITY, INFINITY));
    const mpm_history *history = &s.run.history;
    const mpm_history_column momentum = mpm_history_get(history, 1), energy = mpm_history_get(history, 2);
    assert(!strcmp(momentum.name, "momentum") && momentum.width == DIM && momentum.offset == 1 && !momentum.owner);
    assert(energy.width == 1 && !mpm_history_get(history, 3).width && mpm_history_length(history) == 4);
    assert(history->count == 201); /* of the start and of every other step */
    for (size_t r = 0; r < history->count; r++) {
        const double *record = history->records + 4 * r;
        assert(fabs(record[0] - 2e-3 * (double)r) < 1e-12 && fabs(record[1]) < 1e-14 && record[2] == 0);
        assert(fabs(record[3] - 0.5) < 0.01); /* k u0^2/2, to w dt */
    }
    stop(&s);
}

static int asked;

static int stop_at_once(void *context)
{
    ++*(int *)context;
    return 1;
}

static void a_run_pauses_and_is_interrupted(const mpm_allocator *allocator)
{
    struct springs once, paused;
    start(&once, allocator, 5, 0.2, 1);
    start(&paused, allocator, 5, 0.2, 1);
    assert(!run(&once, INT64_MAX, 0.2, INFINITY));
    assert(!run(&paused, INT64_MAX, 0.2, 0.1) && paused.run.time >= 0.1 && paused.run.time < 0.1011);
    assert(!run(&paused, INT64_MAX, 0.2, INFINITY) && paused.run.steps == once.run.steps);
    assert(!memcmp(once.store.rows[X], paused.store.rows[X], 5 * DIM * sizeof(double)));
    assert(mpm_run_advance(&once.run, INT64_MAX, INFINITY, INFINITY, stop_at_once, &asked) == MPM_INTERRUPTED);
    assert(asked == 1 && once.run.steps > paused.run.steps);
    stop(&once);
    stop(&paused);
}

static void trouble_is_named_until_it_is_mended(const mpm_allocator *allocator)
{
    struct springs s;
    mpm_view *view;
    start(&s, allocator, 4, 0.1, 1);
    view_of(&s, V, &view)[2 * DIM] = 1e4; /* away from the second, towards the last */
    assert(run(&s, 9, INFINITY, INFINITY) == MPM_UNSTABLE && s.run.steps == 1);
    assert(s.run.error.reason == TORN && s.run.error.dt == 1e-3 && s.run.error.count == 2);
    assert(s.run.error.rows[0] == 1 && s.run.error.rows[1] == 2 && s.run.health[STRETCHED] == 2);
    assert(run(&s, 0, INFINITY, INFINITY) == MPM_UNSTABLE && s.run.steps == 1 && s.run.health[STRETCHED] == 4);
    view_of(&s, X, &view)[2 * DIM] = 2.1;
    view_of(&s, V, &view)[2 * DIM] = 0;
    assert(!run(&s, 1, INFINITY, INFINITY) && s.run.steps == 2);
    stop(&s);
}

static void views_go_in_and_out(const mpm_allocator *allocator)
{
    struct springs s;
    mpm_view *v, *mass, *id;
    start(&s, allocator, 4, 0, 1);
    double *written = view_of(&s, V, &v), *masses = view_of(&s, MASS, &mass);
    written[1] = 3;
    masses[2] = 2;
    v->exports++; /* a live array */
    assert(!run(&s, 1, INFINITY, INFINITY));
    assert(written[1] < 3 + 1e-12 && written[1] > 2.9 && written == v->data); /* read in, and written out again */
    assert(((double *)s.store.rows[MASS])[2] == 2 && !mass->stale && !mass->touched);

    const double kept[] = {((double *)s.store.rows[V])[0], ((double *)s.store.rows[V])[4]};
    written[0] = NAN;
    written[4] = INFINITY;
    assert(run(&s, 1, INFINITY, INFINITY) == MPM_BAD_STATE && s.run.steps == 1);
    const mpm_error *error = &s.run.error;
    assert(error->reason == MPM_WRITTEN_NOT_FINITE && !strcmp(error->field->name, "v"));
    assert(error->count == 2 && error->row_count == 2 && error->rows[0] == 0 && error->rows[1] == 2);
    assert(isnan(written[0]) && ((double *)s.store.rows[V])[0] == kept[0]); /* for the user to correct */
    written[0] = kept[0];
    written[4] = kept[1];
    view_of(&s, MASS, &mass)[3] = 0; /* the range is open */
    assert(run(&s, 1, INFINITY, INFINITY) == MPM_BAD_STATE && error->reason == MPM_WRITTEN_INVERTED);
    assert(error->count == 1 && error->rows[0] == 3 && !strcmp(error->field->name, "mass"));
    view_of(&s, MASS, &mass)[3] = 1;
    assert(!run(&s, 1, INFINITY, INFINITY));
    assert(!mpm_store_get(&s.store, ID, &id) && id->read_only && id->integer && ((int64_t *)id->data)[3] == 3);
    stop(&s);
}

static void fields_and_rows_come_and_go(const mpm_allocator *allocator)
{
    struct springs s;
    mpm_view *view, *before;
    int32_t new_row[] = {0, -1, 0, 0};
    start(&s, allocator, 4, 0.1, 1);
    assert(!mpm_store_add_field(&s.store, "temperature", "K", MPM_SCALAR, 293));
    assert(!mpm_store_add_field(&s.store, "strain", "1", MPM_TENSOR, 1));
    const int temperature = mpm_fields_find(&s.store.fields, "temperature");
    assert(temperature == FIELDS && mpm_store_add_field(&s.store, "a name that is too long for the table", "K", 0, 0));
    view_of(&s, temperature, &before)[2] = 400;
    assert(!run(&s, 3, INFINITY, INFINITY));
    mpm_view_retain(before);
    mpm_store_keep_rows(&s.store, new_row);
    assert(s.store.count == 3 && new_row[2] == 1 && new_row[3] == 2 && ((double *)before->data)[2] == 400);
    mpm_view_release(before);
    assert(view_of(&s, temperature, &view) && view->rows == 3);
    assert(!mpm_store_reserve(&s.store, 1));
    mpm_store_add_rows(&s.store, 1);
    const double *kelvin = view_of(&s, temperature, &view);
    const double expected[] = {293, 400, 293, 293}, one[] = {1, 0, 0, 1};
    assert(view->rows == 4 && !memcmp(kelvin, expected, sizeof expected));
    assert(!memcmp(view_of(&s, temperature + 1, &view) + 12, one, sizeof one) && view->components == 4);
    const int64_t ids[] = {0, 2, 3, 4};
    assert(!memcmp(s.store.rows[ID], ids, sizeof ids) && s.store.next_id == 5);
    stop(&s);
}

static void threads_change_no_bit(const mpm_allocator *allocator)
{
    struct springs one, three;
    start(&one, allocator, MOST, 0.3, 1);
    start(&three, allocator, MOST, 0.3, 3);
    assert(!run(&one, 200, INFINITY, INFINITY) && !run(&three, 200, INFINITY, INFINITY));
    assert(one.threads == 1 && three.threads == 3 && !three.run.pool);
    assert(!memcmp(one.store.rows[X], three.store.rows[X], MOST * DIM * sizeof(double)));
    stop(&one);
    stop(&three);
}

/* An automatic step begins again with half its size, twelve times at most; a fixed one is refused. */
static void refused_steps_are_halved(const mpm_allocator *allocator)
{
    struct springs s;
    start(&s, allocator, 3, 0.1, 1);
    s.allowed = 0.3e-3;
    assert(!run(&s, 1, INFINITY, INFINITY) && s.run.dt == 0.25e-3 && s.run.time == s.run.dt);
    assert(s.run.health[REFUSED] == 2 && s.run.natural_dt == s.run.dt);
    assert(!run(&s, INT64_MAX, 0.35e-3, INFINITY) && s.run.time == 0.35e-3 && s.run.steps == 2);
    s.allowed = 0;
    assert(run(&s, 1, INFINITY, INFINITY) == MPM_UNSTABLE && s.run.error.reason == TOO_LONG);
    assert(s.run.health[REFUSED] == 14 && s.run.error.dt == 1e-3 / 4096 && s.run.steps == 2);
    s.settings.dt = 1e-3;
    assert(run(&s, 1, INFINITY, INFINITY) == MPM_UNSTABLE && s.run.health[REFUSED] == 14 && s.run.error.dt == 1e-3);
    s.allowed = 1;
    s.settings.dt = 0.2;
    assert(run(&s, 1, INFINITY, INFINITY) == MPM_UNSTABLE && s.run.error.reason == MPM_DT_ABOVE_BOUND);
    s.settings.dt = 1e-20;
    assert(run(&s, 1, INFINITY, INFINITY) == MPM_UNSTABLE && s.run.error.reason == MPM_DT_TOO_SMALL);
    s.settings.dt = 0.2;
    s.settings.allow_unstable = true;
    assert(s.run.steps == 2 && !run(&s, 1, INFINITY, INFINITY) && s.run.dt == 0.2);
    stop(&s);
}

/* A call that was refused memory and is repeated has the same result as an undisturbed call. */
static void refused_memory_leaves_no_trace(void)
{
    struct ledger ledger = {0};
    const mpm_allocator allocator = {count_allocate, count_release, &ledger};
    struct springs s;
    mpm_view *view;
    for (int k = 1, refused = 1; refused; k++) {
        start(&s, &allocator, 4, 0.1, 1);
        view_of(&s, V, &view)[0] = 1;
        ledger.fail_at = ledger.calls + k;
        mpm_status status = mpm_store_add_fields(&s.store, (mpm_field[]){{.name = "a"}, {.name = "b"}}, 2);
        assert(s.store.fields.count == (status ? FIELDS : FIELDS + 2));
        refused = status == MPM_OUT_OF_MEMORY;
        status = run(&s, 2, INFINITY, INFINITY);
        refused |= status == MPM_OUT_OF_MEMORY;
        assert(status == MPM_OK || status == MPM_OUT_OF_MEMORY);
        assert(!status || !run(&s, 2 - s.run.steps, INFINITY, INFINITY));
        assert(s.run.steps == 2 && s.books.momentum[0] > 1 - 1e-12);
        stop(&s);
        assert(ledger.live == 0 && k < 100);
    }
}

int main(void)
{
    struct ledger ledger = {0};
    const mpm_allocator allocator = {count_allocate, count_release, &ledger};
    the_clock_ends_at_the_goal(&allocator);
    the_history_has_its_columns(&allocator);
    a_run_pauses_and_is_interrupted(&allocator);
    trouble_is_named_until_it_is_mended(&allocator);
    views_go_in_and_out(&allocator);
    fields_and_rows_come_and_go(&allocator);
    threads_change_no_bit(&allocator);
    refused_steps_are_halved(&allocator);
    assert(ledger.live == 0);
    refused_memory_leaves_no_trace();
    return 0;
}
