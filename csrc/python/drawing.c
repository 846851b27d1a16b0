/* SPDX-License-Identifier: MIT
 *
 * Pictures for Python: the particle that is visible at each pixel, and its colour; filled triangles; light.
 */
#include "python/module.h"

#include "drawing/discs.h"
#include "drawing/relief.h"
#include "drawing/triangles.h"

enum { MAX_SIDE = 1 << 15 };

/* Buffers that a call holds; releasing one that was not taken is harmless. */
enum { COLUMN, ROW, NEAR, SIZE, SEEN, BRIGHTNESS, PALETTE, VALUE, IMAGE, BUFFERS };

struct call {
    Py_buffer buffer[BUFFERS];
    mpm_discs discs;
    int threads;
};

static void release(struct call *call)
{
    for (int i = 0; i < BUFFERS; i++)
        PyBuffer_Release(&call->buffer[i]);
}

static int refuse(const char *what)
{
    PyErr_SetString(PyExc_ValueError, what);
    return -1;
}

static int take_discs(struct call *call, PyObject *column, PyObject *row, PyObject *near, double radius, PyObject *size)
{
    Py_buffer *b = call->buffer;
    if (mpm_python_get_buffer(column, &b[COLUMN], "column", "f", 1, 0) ||
        mpm_python_get_buffer(row, &b[ROW], "row", "f", 1, 0) ||
        (near != Py_None && mpm_python_get_buffer(near, &b[NEAR], "near", "f", 1, 0)) ||
        (size != Py_None && mpm_python_get_buffer(size, &b[SIZE], "size", "B", 1, 0)))
        return -1;
    const Py_ssize_t count = b[COLUMN].shape[0];
    if (b[ROW].shape[0] != count || (near != Py_None && b[NEAR].shape[0] != count))
        return refuse("row, near: expected as many as there are columns");
    if (size != Py_None && b[SIZE].shape[0] != count)
        return refuse("size: expected as many as there are columns");
    if (count > INT32_MAX)
        return refuse("column: too many for 32-bit indices");
    if (!(radius >= 1 && radius <= MPM_DISC_RADIUS))
        return refuse("radius: expected 1 to 31 pixels");
    call->discs.count = count;
    call->discs.column = b[COLUMN].buf;
    call->discs.row = b[ROW].buf;
    call->discs.near = near == Py_None ? NULL : b[NEAR].buf;
    call->discs.radius = (float)radius;
    call->discs.size = size == Py_None ? NULL : b[SIZE].buf;
    return 0;
}

static int check_window(const struct call *call)
{
    const mpm_discs *d = &call->discs;
    if (d->width < 1 || d->height < 1 || d->width > MAX_SIDE || d->height > MAX_SIDE || d->left < -MAX_SIDE ||
        d->left > MAX_SIDE || d->top < -MAX_SIDE || d->top > MAX_SIDE)
        return refuse("window: expected 1 to 32768 columns and rows");
    return mpm_python_check_threads(call->threads);
}

static PyObject *draw_discs(PyObject *module, PyObject *args)
{
    const module_state *state = PyModule_GetState(module);
    struct call call = {0};
    PyObject *column, *row, *near, *size = Py_None, *result = NULL;
    mpm_discs *d = &call.discs;
    double radius;
    if (!PyArg_ParseTuple(args, "OOOd(nnnn)i|O", &column, &row, &near, &radius, &d->left, &d->top, &d->width,
                          &d->height, &call.threads, &size))
        return NULL;
    if (take_discs(&call, column, row, near, radius, size) || check_window(&call) ||
        !(result = PyBytes_FromStringAndSize(NULL, d->width * d->height * (Py_ssize_t)sizeof(int32_t)))) {
        release(&call);
        return NULL;
    }
    int32_t *seen = (int32_t *)PyBytes_AsString(result);
    mpm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = mpm_discs_draw(&state->allocator, d, seen, call.threads);
    Py_END_ALLOW_THREADS
    release(&call);
    if (status == MPM_OK)
        return result;
    Py_DECREF(result);
    return PyErr_NoMemory();
}

static int check_ink(const struct call *call, int fine)
{
    const Py_buffer *b = call->buffer;
    const mpm_discs *d = &call->discs;
    int reach = 0;
    while ((float)reach < d->radius)
        reach++;
    if (b[SEEN].shape[0] != d->height || b[SEEN].shape[1] != d->width)
        return refuse("seen: expected the shape of the window");
    if (b[BRIGHTNESS].shape[0] != 2 * reach + 1 || b[BRIGHTNESS].shape[1] != 2 * reach + 1)
        return refuse("brightness: expected (2 k + 1, 2 k + 1), k the radius rounded up");
    if (b[PALETTE].shape[1] != 256 || b[PALETTE].shape[2] != 3)
        return refuse("palette: expected (shades, 256, 3)");
    const uint8_t *brightness = b[BRIGHTNESS].buf;
    for (Py_ssize_t k = 0; k < b[BRIGHTNESS].len; k++)
        if (brightness[k] >= b[PALETTE].shape[0])
            return refuse("brightness: not a row of the palette");
    if (b[VALUE].shape[0] != d->count)
        return refuse("value: expected as many as there are columns");
    if (fine < 1 || fine > MPM_DISC_FINE || d->left % fine || d->top % fine || d->width % fine || d->height % fine)
        return refuse("fine: expected 1 to 8, and a window of whole pixels of the image");
    if (b[IMAGE].shape[2] != 3 || d->left < 0 || d->top < 0 || (d->left + d->width) / fine > b[IMAGE].shape[1] ||
        (d->top + d->height) / fine > b[IMAGE].shape[0])
        return refuse("image: expected (height, width, 3) with the window in it");
    return 0;
}

static PyObject *paint_discs(PyObject *module, PyObject *args)
{
    const module_state *state = PyModule_GetState(module);
    struct call call = {0};
    PyObject *column, *row, *seen, *brightness, *palette, *value, *image, *size = Py_None;
    Py_buffer *b = call.buffer;
    mpm_discs *d = &call.discs;
    double radius;
    int fine;
    if (!PyArg_ParseTuple(args, "OOd(nnnn)OOOOiOi|O", &column, &row, &radius, &d->left, &d->top, &d->width, &d->height,
                          &seen, &brightness, &palette, &value, &fine, &image, &call.threads, &size))
        return NULL;
    if (take_discs(&call, column, row, Py_None, radius, size) || check_window(&call) ||
        mpm_python_get_buffer(seen, &b[SEEN], "seen", "i", 2, 0) ||
        mpm_python_get_buffer(brightness, &b[BRIGHTNESS], "brightness", "B", 2, 0) ||
        mpm_python_get_buffer(palette, &b[PALETTE], "palette", "B", 3, 0) ||
        mpm_python_get_buffer(value, &b[VALUE], "value", "B", 1, 0) ||
        mpm_python_get_buffer(image, &b[IMAGE], "image", "B", 3, 1) || check_ink(&call, fine)) {
        release(&call);
        return NULL;
    }
    const mpm_disc_ink ink = {b[BRIGHTNESS].buf, b[PALETTE].buf, b[VALUE].buf};
    mpm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = mpm_discs_paint(&state->allocator, d, b[SEEN].buf, &ink, fine, b[IMAGE].buf, b[IMAGE].shape[1],
                             call.threads);
    Py_END_ALLOW_THREADS
    release(&call);
    if (status == MPM_OK)
        return Py_NewRef(Py_None);
    return PyErr_NoMemory();
}

/* Buffers of `paint_triangles`. */
enum { OF_COLUMN, OF_ROW, OF_CORNERS, OF_VALUE, OF_PALETTE, OF_IMAGE, OF_ALL };

static int check_triangles(const Py_buffer *b, int fine)
{
    const Py_ssize_t points = b[OF_COLUMN].shape[0];
    if (b[OF_ROW].shape[0] != points || b[OF_VALUE].shape[0] != points)
        return refuse("row, value: expected as many as there are columns");
    if (b[OF_CORNERS].shape[1] != 3)
        return refuse("corners: expected (m, 3)");
    const int32_t *corners = b[OF_CORNERS].buf;
    for (Py_ssize_t k = 0; k < 3 * b[OF_CORNERS].shape[0]; k++)
        if (corners[k] < 0 || corners[k] >= points)
            return refuse("corners: expected numbers of points");
    if (b[OF_PALETTE].shape[0] != 256 || b[OF_PALETTE].shape[1] != 3)
        return refuse("palette: expected (256, 3)");
    if (b[OF_IMAGE].shape[2] != 3 || b[OF_IMAGE].shape[0] > MAX_SIDE || b[OF_IMAGE].shape[1] > MAX_SIDE)
        return refuse("image: expected (height, width, 3), up to 32768 each way");
    if (fine < 1 || fine > MPM_TRIANGLE_FINE)
        return refuse("fine: expected 1 to 8");
    return 0;
}

static PyObject *paint_triangles(PyObject *module, PyObject *args)
{
    const module_state *state = PyModule_GetState(module);
    Py_buffer b[OF_ALL] = {0};
    PyObject *given[OF_ALL];
    int fine, taken = 0;
    if (!PyArg_ParseTuple(args, "OOOOOiO", &given[OF_COLUMN], &given[OF_ROW], &given[OF_CORNERS], &given[OF_VALUE],
                          &given[OF_PALETTE], &fine, &given[OF_IMAGE]))
        return NULL;
    static const struct {
        const char *name, *format;
        int axes, writable;
    } wanted[OF_ALL] = {{"column", "f", 1, 0}, {"row", "f", 1, 0},     {"corners", "i", 2, 0},
                        {"value", "B", 1, 0},  {"palette", "B", 2, 0}, {"image", "B", 3, 1}};
    for (int i = 0; i < OF_ALL && !taken; i++)
        taken = mpm_python_get_buffer(given[i], &b[i], wanted[i].name, wanted[i].format, wanted[i].axes,
                                      wanted[i].writable);
    mpm_status status = MPM_OK;
    const int refused = taken || check_triangles(b, fine);
    if (!refused) {
        const mpm_triangles triangles = {b[OF_CORNERS].shape[0], b[OF_CORNERS].buf, b[OF_COLUMN].buf,
                                         b[OF_ROW].buf,          b[OF_VALUE].buf,   b[OF_PALETTE].buf};
        Py_BEGIN_ALLOW_THREADS
        status = mpm_triangles_paint(&state->allocator, &triangles, fine, b[OF_IMAGE].buf, b[OF_IMAGE].shape[1],
                                     b[OF_IMAGE].shape[0]);
        Py_END_ALLOW_THREADS
    }
    for (int i = 0; i < OF_ALL; i++)
        PyBuffer_Release(&b[i]);
    if (refused)
        return NULL;
    return status == MPM_OK ? Py_NewRef(Py_None) : PyErr_NoMemory();
}

/* Buffers of `relief_depths` beside those of `struct call`. */
enum { TO_DEPTH, TO_COVER, TO_ALL };

static int check_depths(const struct call *call, const Py_buffer *to, int fine)
{
    const mpm_discs *d = &call->discs;
    if (call->buffer[SEEN].shape[0] != d->height || call->buffer[SEEN].shape[1] != d->width)
        return refuse("seen: expected the shape of the window");
    if (fine < 1 || fine > MPM_DISC_FINE || d->left % fine || d->top % fine || d->width % fine || d->height % fine)
        return refuse("fine: expected 1 to 8, and a window of whole pixels of the image");
    if (to[TO_COVER].shape[0] != to[TO_DEPTH].shape[0] || to[TO_COVER].shape[1] != to[TO_DEPTH].shape[1])
        return refuse("cover: expected the shape of depth");
    if (d->left < 0 || d->top < 0 || (d->left + d->width) / fine > to[TO_DEPTH].shape[1] ||
        (d->top + d->height) / fine > to[TO_DEPTH].shape[0])
        return refuse("depth: expected (height, width) with the window in it");
    return 0;
}

static PyObject *relief_depths(PyObject *module, PyObject *args)
{
    (void)module;
    struct call call = {.threads = 1};
    Py_buffer to[TO_ALL] = {0}, *b = call.buffer;
    PyObject *column, *row, *near, *seen, *depth, *cover, *size = Py_None;
    mpm_discs *d = &call.discs;
    double radius;
    int fine;
    if (!PyArg_ParseTuple(args, "OOOd(nnnn)OiOO|O", &column, &row, &near, &radius, &d->left, &d->top, &d->width,
                          &d->height, &seen, &fine, &depth, &cover, &size))
        return NULL;
    const int refused = mpm_python_get_buffer(near, &b[NEAR], "near", "f", 1, 0) ||
                        take_discs(&call, column, row, Py_None, radius, size) || check_window(&call) ||
                        mpm_python_get_buffer(seen, &b[SEEN], "seen", "i", 2, 0) ||
                        mpm_python_get_buffer(depth, &to[TO_DEPTH], "depth", "f", 2, 1) ||
                        mpm_python_get_buffer(cover, &to[TO_COVER], "cover", "f", 2, 1) ||
                        check_depths(&call, to, fine) ||
                        (b[NEAR].shape[0] != d->count && refuse("near: expected as many as there are columns"));
    if (!refused) {
        d->near = b[NEAR].buf;
        Py_BEGIN_ALLOW_THREADS
        mpm_relief_depths(d, b[SEEN].buf, fine, to[TO_DEPTH].buf, to[TO_COVER].buf, to[TO_DEPTH].shape[1]);
        Py_END_ALLOW_THREADS
    }
    for (int i = 0; i < TO_ALL; i++)
        PyBuffer_Release(&to[i]);
    release(&call);
    return refused ? NULL : Py_NewRef(Py_None);
}

/* Buffers of `shade_relief`. */
enum { IN_IMAGE, IN_DEPTH, IN_COVER, IN_GROUND, IN_GLOSS, IN_SUNLIT, IN_LIGHT, IN_ALL };

static int check_relief(const Py_buffer *b)
{
    const Py_ssize_t *shape = b[IN_IMAGE].shape;
    if (shape[2] != 3 || shape[0] < 1 || shape[1] < 1 || shape[0] > MAX_SIDE || shape[1] > MAX_SIDE)
        return refuse("image: expected (height, width, 3), up to 32768 each way");
    for (int i = IN_DEPTH; i <= IN_GLOSS; i++)
        if (b[i].obj && (b[i].shape[0] != shape[0] || b[i].shape[1] != shape[1]))
            return refuse("depth, cover, ground, gloss: expected the height and width of the image");
    if (b[IN_SUNLIT].shape[0] > MAX_SIDE || b[IN_SUNLIT].shape[1] > MAX_SIDE)
        return refuse("sunlit: expected up to 32768 rows and columns");
    if (b[IN_LIGHT].shape[0] != MPM_RELIEF_NUMBERS)
        return refuse("light: expected 38 numbers");
    const mpm_relief_light *light = b[IN_LIGHT].buf;
    const float *number = b[IN_LIGHT].buf;
    for (int i = 0; i < MPM_RELIEF_NUMBERS; i++)
        if (!(number[i] > -1e6F && number[i] < 1e6F))
            return refuse("light: expected finite numbers, below 1e6");
    if (!(light->spread >= 0 && light->spread <= MPM_RELIEF_SPREAD && light->step > 0 && light->reach >= 0 &&
          light->reach <= MAX_SIDE && light->bias > 0 && light->softness >= 0))
        return refuse("light: expected a spread up to 24, lengths >= 0 and a step and a bias > 0");
    return 0;
}

static PyObject *shade_relief(PyObject *module, PyObject *args)
{
    const module_state *state = PyModule_GetState(module);
    static const struct {
        const char *name, *format;
        int axes, writable;
    } wanted[IN_ALL] = {{"image", "B", 3, 1},  {"depth", "f", 2, 0},  {"cover", "f", 2, 0},
                        {"ground", "f", 2, 0}, {"gloss", "f", 2, 0},  {"sunlit", "f", 2, 0},
                        {"light", "f", 1, 0}};
    Py_buffer b[IN_ALL] = {0};
    PyObject *given[IN_ALL] = {[IN_GLOSS] = Py_None};
    int threads, taken = 0;
    if (!PyArg_ParseTuple(args, "OOOOOOi|O", &given[IN_IMAGE], &given[IN_DEPTH], &given[IN_COVER], &given[IN_GROUND],
                          &given[IN_SUNLIT], &given[IN_LIGHT], &threads, &given[IN_GLOSS]))
        return NULL;
    for (int i = 0; i < IN_ALL && !taken; i++)
        if ((i != IN_GROUND && i != IN_GLOSS) || given[i] != Py_None)
            taken = mpm_python_get_buffer(given[i], &b[i], wanted[i].name, wanted[i].format, wanted[i].axes,
                                          wanted[i].writable);
    mpm_status status = MPM_OK;
    const int refused = taken || check_relief(b) || mpm_python_check_threads(threads);
    if (!refused) {
        const mpm_relief relief = {.width = b[IN_IMAGE].shape[1],
                                   .height = b[IN_IMAGE].shape[0],
                                   .depth = b[IN_DEPTH].buf,
                                   .cover = b[IN_COVER].buf,
                                   .ground = b[IN_GROUND].buf,
                                   .gloss = b[IN_GLOSS].buf,
                                   .sun_width = b[IN_SUNLIT].shape[1],
                                   .sun_height = b[IN_SUNLIT].shape[0],
                                   .sunlit = b[IN_SUNLIT].buf};
        Py_BEGIN_ALLOW_THREADS
        status = mpm_relief_shade(&state->allocator, &relief, b[IN_LIGHT].buf, b[IN_IMAGE].buf, threads);
        Py_END_ALLOW_THREADS
    }
    for (int i = 0; i < IN_ALL; i++)
        PyBuffer_Release(&b[i]);
    if (refused)
        return NULL;
    return status == MPM_OK ? Py_NewRef(Py_None) : PyErr_NoMemory();
}

PyMethodDef mpm_drawing_methods[] = {
    {"draw_discs", draw_discs, METH_VARARGS,
     "draw_discs(column, row, near, radius, window, threads, size=None)\n--\n\n"
     "Which disc is seen at each pixel of the window, int32 (height, width) as bytes; -1: none."},
    {"paint_discs", paint_discs, METH_VARARGS,
     "paint_discs(column, row, radius, window, seen, brightness, palette, value, fine, image, threads, size=None)\n"
     "--\n\n"
     "Paint what is seen into the image, on which fine x fine pixels make one."},
    {"paint_triangles", paint_triangles, METH_VARARGS,
     "paint_triangles(column, row, corners, value, palette, fine, image)\n--\n\n"
     "Fill triangles into the image, on which fine x fine pixels make one."},
    {"relief_depths", relief_depths, METH_VARARGS,
     "relief_depths(column, row, near, radius, window, seen, fine, depth, cover, size=None)\n--\n\n"
     "How near what is seen comes at each pixel of an image, and which share of the pixel it covers."},
    {"shade_relief", shade_relief, METH_VARARGS,
     "shade_relief(image, depth, cover, ground, sunlit, light, threads, gloss=None)\n--\n\n"
     "Multiply the image by the light that falls on a surface of these depths, and on the ground; add reflections."},
    {NULL, NULL, 0, NULL},
};
