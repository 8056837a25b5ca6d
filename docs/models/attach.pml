/* SPDX-License-Identifier: Apache-2.0
 *
 * Attach: who holds what, and who can do what to the memory, at each step. The client may be
 * hostile, and either side may die or fall silent at any moment; the other sees the end of the
 * socket, or the deadline.
 *
 * Holds:
 *   - no session is left when both sides have ended;
 *   - a session is served only when its memory is sealed and present;
 *   - a client uses the session only after READY;
 *   - the client never gets a writable mapping of the reply area;
 *   - once the memory is present, nobody can punch a hole in it.
 * Does not hold with
 *   -DSEAL_AFTER_SENDING  the reply area is sealed after its descriptor was passed
 *   -DPOPULATE_FIRST      pages are made present before holes are forbidden
 *   -DREADY_FIRST         READY is sent, and the session served, before sealing
 *   -DFORGET_ON_DEATH     the server does not watch the socket while it waits for MAPPED
 */
mtype = { HELLO, WELCOME, REFUSED, MAPPED, READY };

chan to_server = [2] of { mtype };
chan to_client = [2] of { mtype };
bool client_is_gone = false, server_is_gone = false;

bool session = false;       /* memory and descriptors in the server */
bool has_fds = false;       /* in the client */
bool reply_sealed = false;  /* FUTURE_WRITE on the reply area */
bool others_sealed = false; /* FUTURE_WRITE on exchange and request area */
bool present = false;
bool hole = false;
bool reply_is_writable = false; /* by the client */
bool is_served = false;
bool is_used = false;

active proctype server()
{
    if
    :: to_server?HELLO
    :: client_is_gone && empty(to_server) -> goto over
    :: true -> goto over /* deadline */
    fi;
    if
    :: true -> to_client!REFUSED; goto over /* policy, quota, version */
    :: true -> skip
    :: true -> goto over /* death */
    fi;
    session = true;
#ifndef SEAL_AFTER_SENDING
    reply_sealed = true;
#endif
    to_client!WELCOME;
    has_fds = true;
#ifdef SEAL_AFTER_SENDING
    reply_sealed = true;
#endif
#ifdef READY_FIRST
    is_served = true;
#endif
    if
    :: to_server?MAPPED
#ifndef FORGET_ON_DEATH
    :: client_is_gone && empty(to_server) -> goto release
    :: true -> goto release /* deadline */
#endif
    fi;
#ifdef POPULATE_FIRST
    atomic { present = true; hole = false };
    others_sealed = true;
#else
    others_sealed = true;
    atomic { present = true; hole = false }; /* fills what was punched before, or fails */
#endif
    if
    :: true -> to_client!REFUSED; goto release /* no memory */
    :: true -> skip
    fi;
    is_served = true;
    to_client!READY;
    if
    :: client_is_gone -> skip /* end of file */
    :: true -> skip           /* our own end */
    fi;
    is_served = false;
release:
    is_served = false;
    present = false;
    session = false;
over:
    server_is_gone = true
}

active proctype client()
{
    to_server!HELLO;
    if
    :: to_client?WELCOME
    :: to_client?REFUSED -> goto over
    :: server_is_gone && empty(to_client) -> goto over
    :: true -> goto over /* deadline, death */
    fi;
    if
    :: true -> goto over /* seals or sizes are wrong, or death */
    :: true -> to_server!MAPPED
    :: true -> skip /* hostile: stays silent, keeps the descriptors */
    fi;
    if
    :: to_client?READY -> is_used = true
    :: to_client?REFUSED -> goto over
    :: server_is_gone && empty(to_client) -> goto over
    :: true -> goto over
    fi;
    if
    :: server_is_gone -> skip
    :: true -> skip
    fi;
over:
    is_used = false;
    client_is_gone = true
}

/* What a hostile client tries with its descriptors, at any time. */
active proctype attacker()
{
end:
    do
    :: atomic { has_fds && !reply_sealed && !reply_is_writable -> reply_is_writable = true }
    :: atomic { has_fds && !others_sealed && !hole -> hole = true }
    :: client_is_gone && server_is_gone -> break
    od
}

active proctype observer()
{
end:
    do
    :: atomic { reply_is_writable -> assert(false) }
    :: atomic { hole && present -> assert(false) }
    :: atomic { is_served && !(others_sealed && present) -> assert(false) }
    :: atomic { is_used && !(others_sealed || server_is_gone) -> assert(false) }
    :: atomic { client_is_gone && server_is_gone -> assert(!session); break }
    od
}
