/* SPDX-License-Identifier: Apache-2.0
 *
 * Long messages do not lock up. A client sends requests into all slots without waiting; replies are
 * of three sizes, chosen at random: in the slot, in the area (one unit of its room), or long (three
 * parts, each one unit). Requests are short, or long (three parts through the request's own slot).
 * The client sees replies strictly in order, frees the area only when it has seen an area reply,
 * and pulls a long reply through the slot of its request. The area has room for two.
 *
 * Holds: everything ends, with every reply seen whole, and the area is never overfull. Does not
 * hold with
 *   -DAREA_WHILE_HELD  replies in the area are given while a long one is being pulled: they fill
 *                      it, cannot be freed before the pull ends, and the pull needs room
 *   -DPULL_IN_A_NEW_SLOT  the next part is asked for behind all other requests: the server does not
 *                      get there while a reply in between waits for the pull
 */
#define SLOTS    3
#define REQUESTS 5
#define AREA     2
#define PARTS    3

mtype = { FREE, REQUEST, PUT, FETCH, ACK, SMALL, LARGE, LONG, PART };
mtype slot[SLOTS];

byte in_area = 0; /* units of the reply area in use */
byte head = 0;    /* client: next to send */

#ifdef PULL_IN_A_NEW_SLOT
bool fetch_waits = false; /* in a slot behind the others */
#endif

active proctype client()
{
    byte tail = 0, got, pushed = 0;
    byte pushing = 255; /* position of the request that is being pushed */
    do
    :: head < REQUESTS && head - tail < SLOTS ->
        atomic {
            if
            :: slot[head % SLOTS] = REQUEST
            :: pushing == 255 -> slot[head % SLOTS] = PUT; pushing = head; pushed = 1
            fi;
            head++
        }
    :: pushing != 255 && slot[pushing % SLOTS] == ACK ->
        atomic {
            pushed++;
            if
            :: pushed == PARTS -> slot[pushing % SLOTS] = REQUEST; pushing = 255
            :: else -> slot[pushing % SLOTS] = PUT
            fi
        }
    :: tail < head && slot[tail % SLOTS] == SMALL -> slot[tail % SLOTS] = FREE; tail++
    :: tail < head && slot[tail % SLOTS] == LARGE ->
        atomic { in_area--; slot[tail % SLOTS] = FREE; tail++ }
    :: tail < head && slot[tail % SLOTS] == LONG ->
        got = 0;
        do
        :: got < PARTS ->
#ifdef PULL_IN_A_NEW_SLOT
            slot[tail % SLOTS] = FREE;
            fetch_waits = true;
#else
            slot[tail % SLOTS] = FETCH;
#endif
            slot[tail % SLOTS] == PART;
            in_area--;
            got++
        :: got == PARTS -> break
        od;
        slot[tail % SLOTS] = FREE;
        tail++
    :: tail == REQUESTS -> break
    od;
    assert(in_area == 0)
}

active proctype server()
{
    byte next = 0, held = 255, given = 0;
    mtype size;
    bool is_stalled = false; /* a request was executed up to its reply, which has no room */
    do
    /* The next part of the long reply. */
#ifdef PULL_IN_A_NEW_SLOT
    :: held != 255 && fetch_waits && !is_stalled && in_area < AREA ->
        atomic { fetch_waits = false; in_area++; slot[held % SLOTS] = PART; given++ }
#else
    :: held != 255 && slot[held % SLOTS] == FETCH && in_area < AREA ->
        atomic { in_area++; slot[held % SLOTS] = PART; given++ }
#endif
    :: held != 255 && given == PARTS -> held = 255
    /* The next request. */
    :: next < REQUESTS && !is_stalled && slot[next % SLOTS] == PUT -> slot[next % SLOTS] = ACK
    :: next < REQUESTS && !is_stalled && slot[next % SLOTS] == REQUEST ->
        atomic {
            if
            :: size = SMALL
            :: size = LARGE
            :: size = LONG
            fi;
            is_stalled = true
        }
    /* Its reply, as soon as there is room. */
    :: is_stalled && size == SMALL ->
        atomic { slot[next % SLOTS] = SMALL; next++; is_stalled = false }
#ifdef AREA_WHILE_HELD
    :: is_stalled && size == LARGE && in_area < AREA ->
#else
    :: is_stalled && size == LARGE && in_area < AREA && held == 255 ->
#endif
        atomic { in_area++; slot[next % SLOTS] = LARGE; next++; is_stalled = false }
    :: is_stalled && size == LONG && held == 255 ->
        atomic { slot[next % SLOTS] = LONG; held = next; given = 0; next++; is_stalled = false }
    :: next == REQUESTS && held == 255 -> break
    od
}

active proctype observer()
{
end:
    do
    :: atomic { in_area > AREA -> assert(false) }
    od
}
