/* SPDX-License-Identifier: Apache-2.0
 *
 * Publication: a slot's message is complete when its turn is seen.
 *
 * Two slots, free-running positions, requests and replies in the same slot. Each side has a store
 * buffer that may reach memory in any order, but for one rule: a release store goes after what the
 * same side stored before (S1, S3). A load may be early, but for one rule: after an acquire load
 * nothing is (S2, S4). Turns wrap after four laps, which is passed twice.
 *
 * Holds as it is. Does not hold with
 *   -DNO_S1  the client's control store is not a release     -DNO_S2  the server's load no acquire
 *   -DNO_S3  the server's control store is not a release     -DNO_S4  the client's load no acquire
 */
#define SLOTS     2
#define REQUESTS  16
#define TURNS     8 /* turns are counted modulo this: laps wrap after 4 */
#define REQUEST(p) ((2 * ((p) / SLOTS + 1)) % TURNS)
#define REPLY(p)   ((2 * ((p) / SLOTS + 1) + 1) % TURNS)
#define ANSWER(x)  ((x) + 100)

/* Memory, and what each side has stored but not yet made visible: 0 client, 1 server. */
byte turn[SLOTS] = 1, message[SLOTS]; /* as if the replies of lap 0 had been seen */
bool turn_waits[4], message_waits[4]; /* [side * 2 + slot] */
byte turn_value[4], message_value[4];

#define AT(side, slot) ((side) * 2 + (slot))

#ifdef NO_S1
#define RELEASES_0 false
#else
#define RELEASES_0 true
#endif
#ifdef NO_S3
#define RELEASES_1 false
#else
#define RELEASES_1 true
#endif

inline store(side, s, m, t)
{
    /* One store buffer entry for each word: wait until the last one is visible. */
    atomic {
        !message_waits[AT(side, s)] && !turn_waits[AT(side, s)];
        message_waits[AT(side, s)] = true;
        message_value[AT(side, s)] = m;
        turn_waits[AT(side, s)] = true;
        turn_value[AT(side, s)] = t
    }
}

/* The hardware makes stores visible, at any time, in any order that the rule allows. */
active proctype drain()
{
end:
    do
    :: atomic { message_waits[0] -> message[0] = message_value[0]; message_waits[0] = false }
    :: atomic { message_waits[1] -> message[1] = message_value[1]; message_waits[1] = false }
    :: atomic { message_waits[2] -> message[0] = message_value[2]; message_waits[2] = false }
    :: atomic { message_waits[3] -> message[1] = message_value[3]; message_waits[3] = false }
    :: atomic { turn_waits[0] && !(RELEASES_0 && message_waits[0]) ->
                turn[0] = turn_value[0]; turn_waits[0] = false }
    :: atomic { turn_waits[1] && !(RELEASES_0 && message_waits[1]) ->
                turn[1] = turn_value[1]; turn_waits[1] = false }
    :: atomic { turn_waits[2] && !(RELEASES_1 && message_waits[2]) ->
                turn[0] = turn_value[2]; turn_waits[2] = false }
    :: atomic { turn_waits[3] && !(RELEASES_1 && message_waits[3]) ->
                turn[1] = turn_value[3]; turn_waits[3] = false }
    od
}

active proctype client()
{
    byte head = 0, tail = 0, seen;
    do
    :: head < REQUESTS && head - tail < SLOTS ->
        store(0, head % SLOTS, head, REQUEST(head));
        head++
    :: tail < head ->
#ifdef NO_S4
        if /* the message may be loaded before the turn */
        :: seen = message[tail % SLOTS];
            turn[tail % SLOTS] == REPLY(tail)
        :: turn[tail % SLOTS] == REPLY(tail);
            seen = message[tail % SLOTS]
        fi;
#else
        turn[tail % SLOTS] == REPLY(tail);
        seen = message[tail % SLOTS];
#endif
        assert(seen == ANSWER(tail));
        tail++
    :: tail == REQUESTS -> break
    od
}

active proctype server()
{
    byte next = 0, seen;
    do
    :: next < REQUESTS ->
#ifdef NO_S2
        if
        :: seen = message[next % SLOTS];
            turn[next % SLOTS] == REQUEST(next)
        :: turn[next % SLOTS] == REQUEST(next);
            seen = message[next % SLOTS]
        fi;
#else
        turn[next % SLOTS] == REQUEST(next);
        seen = message[next % SLOTS];
#endif
        assert(seen == next);
        store(1, next % SLOTS, ANSWER(next), REPLY(next));
        next++
    :: next == REQUESTS -> break
    od
}
