/* SPDX-License-Identifier: Apache-2.0
 *
 * Sleep and wake-up, both ways, with the store buffers of x86: stores reach memory late and in
 * order, loads do not wait for them. A locked instruction, and a seq_cst store, waits until the
 * buffer is empty. The table of words and pairs is in ring/layout.h.
 *
 * Each side, when it finds nothing, either spins (here: waits for memory to change) or sleeps. If a
 * wake-up is lost, both wait for ever, which the verifier reports as an invalid end state.
 *
 * Holds as it is (symmetric) and with -DASYMMETRIC (the client publishes with a plain store, the
 * server calls membarrier(), which empties the client's buffer too). Does not hold with
 *   -DNO_W1  the server's flag is stored without waiting, or membarrier() is left out
 *   -DNO_W2  symmetric: the client's publication does not wait
 *   -DNO_W3  the server does not wait between its reply and its look at the client's flag
 *   -DNO_W4  the client's flag is stored without waiting
 *   -DFUTEX_LATE  the client loads the futex word after it has stored its flag: the server, done
 *            with an older reply, sees the flag, changes the word before the client loads it, and
 *            does not wake for this flag again
 *   -DNO_RECHECK  either sleeper does not look once more after telling
 */
#define REQUESTS 3
#define REQUEST(n) (2 * (n) + 2)
#define REPLY(n)   (2 * (n) + 3)

mtype:word = { slot_word, server_flag, client_flag };

byte slot = 1, server_sleeps = 0, client_sleeps = 0; /* memory */
byte batches = 0, futex = 0;                         /* changed by locked instructions only */
chan client_buffer = [3] of { mtype:word, byte };
chan server_buffer = [3] of { mtype:word, byte };

/* Kernel. */
bool doorbell = false;
bool client_is_parked = false;

inline make_visible(buffer)
{
    if
    :: buffer?slot_word(value) -> slot = value
    :: buffer?server_flag(value) -> server_sleeps = value
    :: buffer?client_flag(value) -> client_sleeps = value
    fi
}

active proctype drain_client()
{
    byte value;
end:
    do
    :: atomic { nempty(client_buffer) -> make_visible(client_buffer) }
    od
}

active proctype drain_server()
{
    byte value;
end:
    do
    :: atomic { nempty(server_buffer) -> make_visible(server_buffer) }
    od
}

/* What the client sees: its own buffered store first. A request of its own is no reply. */
#define CLIENT_SEES_REPLY(n) (!(client_buffer??[slot_word, eval(REQUEST(n))]) && slot == REPLY(n))

active proctype client()
{
    byte n = 0, rung = 0, flag, asleep = 0, word;
    do
    :: n == REQUESTS -> break
    :: n < REQUESTS ->
        client_buffer!slot_word(REQUEST(n)); /* S1 */
#if !defined(ASYMMETRIC) && !defined(NO_W2)
        empty(client_buffer);
#endif
        flag = server_sleeps; /* W2 */
        if
        :: flag != 0 && flag != rung -> rung = flag; doorbell = true
        :: else
        fi;
        do
        :: CLIENT_SEES_REPLY(n) -> break
        :: true -> /* sleep */
            asleep++;
#ifndef FUTEX_LATE
            word = futex;
#endif
            client_buffer!client_flag(asleep); /* W4 */
#ifndef NO_W4
            empty(client_buffer);
#endif
#ifdef FUTEX_LATE
            word = futex;
#endif
            if
#ifndef NO_RECHECK
            :: CLIENT_SEES_REPLY(n) -> skip
#endif
            :: else ->
                atomic {
                    if
                    :: futex == word -> client_is_parked = true
                    :: else
                    fi
                };
                !client_is_parked
            fi;
            client_buffer!client_flag(0);
            if /* for spinning, wait until something is there */
            :: CLIENT_SEES_REPLY(n)
            :: true
            fi;
            if
            :: asleep > 3 -> CLIENT_SEES_REPLY(n) -> break /* bounded sleeps, for the verifier */
            :: else
            fi
        od;
        n++
    od
}

active proctype server()
{
    byte n = 0, woken = 0, flag, asleep = 0;
    do
    :: n == REQUESTS -> break
    :: n < REQUESTS ->
        do
        :: slot == REQUEST(n) -> break
        :: asleep < 4 -> /* sleep */
            asleep++;
            server_buffer!server_flag(asleep); /* W1 */
#ifndef NO_W1
            empty(server_buffer);
#ifdef ASYMMETRIC
            empty(client_buffer); /* membarrier() */
#endif
#endif
            if
#ifndef NO_RECHECK
            :: slot == REQUEST(n)
#endif
            :: else -> atomic { doorbell -> doorbell = false }
            fi;
            server_buffer!server_flag(0)
        od;
        server_buffer!slot_word(REPLY(n)); /* S3 */
#ifndef NO_W3
        empty(server_buffer);
        batches++;
#endif
        flag = client_sleeps; /* W3 */
        if
        :: flag != 0 && flag != woken ->
            woken = flag;
            empty(server_buffer);
            futex++;
            client_is_parked = false
        :: else
        fi;
        n++
    od
}
