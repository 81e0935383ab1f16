/* wake.pml - how sending, sweeping, claiming and idling notify each other.
 *
 * The model has a queue of two rows, three backends (or two, with -DBACKENDS=2) that each send or
 * pop, and a last one that pops when they have finished. SPIN visits every order of their steps and finds none in which
 *   - a pop returns empty although one row was claimable during the whole call,
 *   - a row is handed out twice.
 * It follows that no wake-up is lost: the last backend's pop would return empty.
 *
 * A pop that trusts an idle ring, or has read an empty queue, counts a row as claimable from the
 * moment at which the row is visible to others; if it trusts the ring, and the row was freed by a rollback, which is
 * not announced, or a third backend takes another row meanwhile, from a moment later, when the transaction that freed it has
 * notified the ring. A pop that has tried
 * all candidates in vain, or claims by the statement, counts each row from then: candidates that were in flight before
 * a sweep are not counted any more (filling.cpp, begin_fill()), and may win in between. That transaction has not returned
 * to its client by then. Where a sweep that has read rows does not ask for those to come (an attached queue), one may fall
 * due while others take these: then only a row that was claimable during the whole call counts.
 *
 *   spin -DRANKED -search test/model/wake.pml     a managed queue: rows are offered
 *   spin -DRANKED -DDUE -search ...               such a queue; rows may also be to come, by a time for
 *                                                 which they are sent, or by the end of a lease
 *   spin -search test/model/wake.pml              an attached one with the trigger: the
 *                                                 table's generation is incremented
 *   spin -DNEWS -search ...                       such a queue; the log has the row version that the event was
 *                                                 about, and pops enter it
 *   spin -DNEWS -DDUE -search ...                 and rows may be to come, by a time that stands in them: they go
 *                                                 into the log then
 *
 * Each step of a process is one that the C++ takes under the ring's spinlock, or one access to an
 * atomic counter, or one moment at which a transaction's end becomes visible. The model has no
 * time: no sweep is due by the clock, and a queue that is idle stays so. So no result here rests
 * on a clock; in the C++ the clock only adds sweeps, and decides when a filler stands still: here
 * a filler may be replaced at any moment. With -DDUE a row that is to come is due at any moment, but for one under a
 * lease not before the transaction that took it has told the ring: its end takes less time than a lease. The model also
 * leaves out candidates, and rows to come, that do not fit into the ring, and the order.
 *
 * With -DSLIP_... the model has a slip, and SPIN finds the error that follows; see test/model/run.
 */

#define ROWS 2
#ifndef BACKENDS
#define BACKENDS 3 /* or 2 */
#endif
#define PROCESSES 4 /* with the last one, which has number 3; where there are two, there is no number 2 */
#define NOBODY 255
#ifndef OPERATIONS
#define OPERATIONS 1 /* of the first backend; the others have one each */
#endif
/* filler.cpp, fill_or_wait(): most_takeovers, there 6. */
#ifndef MOST_TAKEOVERS
#define MOST_TAKEOVERS 1
#endif

/* A row: absent, committed and free, or locked by a claim whose transaction has not ended. */
#define ABSENT 0
#define FREE 1
#define LOCKED 2
#define TO_COME 3 /* committed, and not claimable yet */

byte row[ROWS];
bool is_being_sent[ROWS];

/* shared_memory.hpp, Wakes: the table's; number is its generation. */
byte under_way;
byte number;

/* ring.hpp, Ring. */
bool candidate[ROWS];
bool is_at_end;
bool is_asked = true; /* sweep.due == 0 */
byte wake_generation;
bool is_silent;       /* is_quiet: a sweep has read to the end (not RANKED: nothing), and the ring is notified of all since */
bool due[ROWS];       /* due_rows: the row is to come, or was */
#ifdef NEWS
byte due_version[ROWS]; /* which is that version */
#endif
bool is_leasing[ROWS]; /* the ring has not been notified of its lease yet */
byte filler = NOBODY; /* fill.generation: no process has two fills under way, so it names the fill */
byte takeovers;
bool has_in_flight[PROCESSES]; /* flight.count: one candidate each, taken since the last sweep began */
/* Flags, where the C++ compares counters for equality: they are equivalent, and make fewer
 * states. */
bool has_won_since;                 /* counters.claims != claims_before */
bool has_gone_since;                /* counters.gone != gone_before */
bool has_swept_since[PROCESSES]; /* sweep_generation differs from that at the start of the call */
bool has_changed_since[PROCESSES]; /* flight.changes differs from that of the taking */
#ifdef NEWS
/* shared_memory.hpp, Wakes::log: the row version that the event of that generation was about, or NOBODY: rows anywhere. */
byte log[8];
byte version[ROWS]; /* changes with each write */
bool has_read_since[PROCESSES]; /* fill.generation or flight.returns differ from those of the copy */
#define VERSION(which) (which + ROWS * version[which])
#endif

/* For the assertions: since the call began, was there a moment with nothing claimable? */
bool was_empty[PROCESSES];
bool was_told_empty[PROCESSES]; /* the same, but for rows that the ring has not been notified of */
bool was_known_empty[PROCESSES]; /* the same, but for those of these that a rollback has freed */
bool was_free_0[PROCESSES]; /* since the call began, row 0 was claimable, and announced, all the time */
bool was_free_1[PROCESSES];
bool is_untold[ROWS];
bool is_undone[ROWS]; /* is_untold, and freed by a rollback */
bool is_dead[PROCESSES];
bool may_die = true;
byte finished;
bool is_over;

#define NOTHING_FREE (row[0] != FREE && row[1] != FREE)
#define NOTHING_TOLD ((row[0] != FREE || is_untold[0]) && (row[1] != FREE || is_untold[1]))

#define NOTHING_KNOWN ((row[0] != FREE || is_undone[0]) && (row[1] != FREE || is_undone[1]))

#ifdef SLIP_HAND_IGNORED
#define NO_FLIGHT true
#else
#define NO_FLIGHT (!has_in_flight[0] && !has_in_flight[1] && !has_in_flight[2] && !has_in_flight[3])
#endif
/* ring.cpp, take(): whether a sweep is due. After one of its own a call takes what that has read. */
#ifdef NEWS
#define IS_OF_GENERATION ((wake_generation + 8 - least) % 8 < 4)
#else
#define IS_OF_GENERATION (number == wake_generation || swept_generation == wake_generation)
#endif
#ifdef DUE
#define IS_DUE(i) (due[i] && row[i] != TO_COME)
#else
#define IS_DUE(i) false
#endif
#define NONE_DUE (!IS_DUE(0) && !IS_DUE(1))
#define MAY_TAKE (!is_asked && IS_OF_GENERATION && NONE_DUE)
/* ring.cpp, take(): is_idle. */
#define IDLE (is_silent && is_at_end && filler == NOBODY && !is_asked && NONE_DUE && !candidate[0] && !candidate[1] && NO_FLIGHT)
/* No search of this size needs it, since take() reads the generation under the spinlock. */
#define NO_CLAIM (!has_won_since)

/* ring->flight.changes++ */
inline change()
{
	has_changed_since[0] = true; has_changed_since[1] = true; has_changed_since[2] = true; has_changed_since[3] = true
}

/* Raises the table's generation: an event about that row version. */
inline note_event(what)
{
#ifdef NEWS
	log[number] = what;
#endif
	number = (number + 1) % 8
}

/* ring->fill_generation++, ring->returns++ */
inline change_reading()
{
#ifdef NEWS
	has_read_since[0] = true; has_read_since[1] = true; has_read_since[2] = true; has_read_since[3] = true
#else
	skip
#endif
}

inline write_version(which)
{
#ifdef NEWS
	version[which] = (version[which] + 1) % 4
#else
	skip
#endif
}

/* ring->sweep_generation++ */
inline sweep()
{
	has_swept_since[0] = true; has_swept_since[1] = true; has_swept_since[2] = true; has_swept_since[3] = true;
	has_in_flight[0] = false; has_in_flight[1] = false; has_in_flight[2] = false; has_in_flight[3] = false
}

inline note_change()
{
	if
	:: NOTHING_FREE -> was_empty[0] = true; was_empty[1] = true; was_empty[2] = true; was_empty[3] = true
	:: else
	fi;
	if
	:: NOTHING_TOLD -> was_told_empty[0] = true; was_told_empty[1] = true; was_told_empty[2] = true; was_told_empty[3] = true
	:: else
	fi;
	if
	:: NOTHING_KNOWN -> was_known_empty[0] = true; was_known_empty[1] = true; was_known_empty[2] = true; was_known_empty[3] = true
	:: else
	fi;
#if defined(DUE) && !defined(RANKED)
	if
	:: row[0] != FREE -> was_free_0[0] = false; was_free_0[1] = false; was_free_0[2] = false; was_free_0[3] = false
	:: else
	fi;
	if
	:: row[1] != FREE -> was_free_1[0] = false; was_free_1[1] = false; was_free_1[2] = false; was_free_1[3] = false
	:: else
	fi
#endif
}

/* sorted_order.cpp, insert(): the ring takes rows up to its cursor, and during a fill all rows. */
inline insert(which)
{
	if
	:: is_at_end || filler != NOBODY -> candidate[which] = true
	:: else
	fi
}

/* transaction_callbacks.cpp, after_commit(), wake(), withdraw(). */
inline tell(which)
{
#ifdef RANKED
	atomic { /* ring.cpp, offer() and expect_rows() */
		if
		:: is_to_come[which] -> due[which] = true
		:: else -> insert(which)
		fi;
		is_to_come[which] = false;
		is_untold[which] = false
	}
#else
	atomic {
#ifdef NEWS
		note_event(VERSION(which));
#else
		note_event(NOBODY);
#endif
		is_to_come[which] = false;
		is_untold[which] = false
	}
#endif
}

/* transaction_callbacks.cpp, after_abort(); ring.cpp, put_back(). */
inline put_back(which)
{
	atomic {
#ifdef RANKED
#ifndef SLIP_PUT_BACK_LOST
		insert(which);
#endif
#else
		if
		:: !has_changed_since[me] -> candidate[which] = true; change_reading()
#ifdef NEWS
		:: else -> note_event(VERSION(which)) /* tell_lost(): nothing depends on what happens before that */
#else
		:: else -> is_asked = true
#endif
		fi;
#endif
		is_untold[which] = false;
		is_undone[which] = false;
		change()
	}
}

/* The row is visible to others from here on. */
inline appear(which)
{
	atomic {
		row[which] = FREE;
		write_version(which);
#ifdef DUE
		if
		:: row[which] = TO_COME; is_to_come[which] = true
		:: true
		fi;
#endif
		is_untold[which] = true;
		is_being_sent[which] = false
	}
}

/* ring.cpp, expect_rows() */
inline expect_row(which, what)
{
	due[which] = true;
#ifdef NEWS
	due_version[which] = what
#endif
}

/* news.cpp, admit_due(): takes the rows that are due, looks whether they are still there, and inserts them. */
inline admit_due()
{
#ifdef DUE
	if
	:: atomic {
			!NONE_DUE ->
			seen[0] = IS_DUE(0);
			seen[1] = IS_DUE(1);
			due[0] = due[0] && !seen[0];
			due[1] = due[1] && !seen[1];
#ifndef SLIP_DUE_IN_NO_HAND
			has_in_flight[me] = true
#endif
		};
#ifdef RANKED
		atomic { seen[0] = seen[0] && row[0] != ABSENT; seen[1] = seen[1] && row[1] != ABSENT };
		atomic {
			if
			:: seen[0] -> insert(0)
			:: else
			fi;
			if
			:: seen[1] -> insert(1)
			:: else
			fi;
			has_in_flight[me] = false;
			seen[0] = false;
			seen[1] = false
		}
#else
		/* tell_due() */
		atomic {
			if
			:: seen[0] -> note_event(due_version[0])
			:: else
			fi;
			if
			:: seen[1] -> note_event(due_version[1])
			:: else
			fi
		};
		atomic { has_in_flight[me] = false; seen[0] = false; seen[1] = false }
#endif
	:: NONE_DUE
	fi
#else
	skip
#endif
}

/* news.cpp, admit_news(): reads the version that is in the log, and enters it if nothing has been read meanwhile. */
inline admit_news()
{
#ifdef NEWS
	do
	:: atomic {
			wake_generation != number ->
			/* read_log(), copy_holding() */
			from = wake_generation;
			told = (filler == NOBODY && !is_asked -> log[from] : NOBODY);
			has_read_since[me] = false
		};
		if
		:: told == NOBODY -> break
		:: else
		fi;
		/* read_told(): a row that is locked is still there. */
		atomic {
			is_told = (VERSION(told % ROWS) == told);
			is_won = is_told && (row[told % ROWS] == FREE || row[told % ROWS] == LOCKED);
			is_gone = is_told && row[told % ROWS] == TO_COME
		};
#ifdef SLIP_NEWS_NOTED_FIRST
		atomic {
			if
			:: wake_generation == from && !has_read_since[me] && filler == NOBODY -> wake_generation = (from + 1) % 8
			:: else
			fi
		};
#endif
#ifndef SLIP_NEWS_DUE_LEFT_OUT
		if
		:: is_gone -> expect_row(told % ROWS, told)
		:: else
		fi;
#endif
		/* enter_placed() */
		atomic {
			if
#ifdef SLIP_NEWS_NOTED_FIRST
			:: !has_read_since[me] && filler == NOBODY ->
#else
			:: wake_generation == from && !has_read_since[me] && filler == NOBODY ->
#endif
				wake_generation = (from + 1) % 8;
				if
				:: is_won -> candidate[told % ROWS] = true; change()
				:: else
				fi
			:: else
			fi;
			from = 0; told = 0; is_told = false; is_won = false; is_gone = false; has_read_since[me] = true
		}
	:: wake_generation == number -> break
	od;
	atomic { from = 0; told = 0; has_read_since[me] = true }
#else
	skip
#endif
}

/* fill.cpp, expect_first_due(): a newer snapshot, and the rows that were to come at the time of the fill. Of an attached
 * queue only a sweep that has read nothing asks. */
inline read_due()
{
#if !defined(DUE) || defined(SLIP_DUE_NOT_READ)
	skip
#else
	atomic { was_to_come[0] = (was_to_come[0] && row[0] != ABSENT) || row[0] == TO_COME; was_to_come[1] = (was_to_come[1] && row[1] != ABSENT) || row[1] == TO_COME };
#ifdef RANKED
	atomic { due[0] = due[0] || was_to_come[0]; due[1] = due[1] || was_to_come[1]; was_to_come[0] = false; was_to_come[1] = false }
#else
	atomic {
		if
		:: was_to_come[0] && !seen[0] && !seen[1] -> expect_row(0, VERSION(0))
		:: else
		fi;
		if
		:: was_to_come[1] && !seen[0] && !seen[1] -> expect_row(1, VERSION(1))
		:: else
		fi;
		was_to_come[0] = false;
		was_to_come[1] = false
	}
#endif
#endif
}

/* send.cpp, and the trigger queue_wake; transaction_callbacks.cpp, on_transaction_end(). */
inline send(which)
{
	/* XACT_EVENT_PRE_COMMIT: count_under_way() */
#ifdef SLIP_ANNOUNCE_LATE
	appear(which);
	under_way++;
#else
	under_way++;
	appear(which);
#endif
	/* XACT_EVENT_COMMIT */
#ifdef SLIP_WITHDRAW_EARLY
	under_way--;
	tell(which)
#else
	tell(which);
	under_way--
#endif
}

/* direct.cpp, claim_direct(). */
inline pop()
{
#if defined(DUE) && !defined(RANKED)
	was_free_0[me] = (row[0] == FREE && !is_untold[0]);
	was_free_1[me] = (row[1] == FREE && !is_untold[1]);
#endif
	atomic { was_empty[me] = NOTHING_FREE; was_told_empty[me] = NOTHING_TOLD; was_known_empty[me] = NOTHING_KNOWN };
	/* is_idle(): a transaction that is no longer under way has notified the ring. */
#ifdef SLIP_READS_SWAPPED
	atomic { is_empty = IDLE && number == wake_generation };
	atomic { is_empty = is_empty && under_way == 0 };
#else
	is_quiet = (under_way == 0);
	/* The generation is read under the spinlock. */
#ifdef SLIP_GENERATION_READ_EARLY
	seen_generation = number;
	atomic { is_empty = is_quiet && IDLE && seen_generation == wake_generation };
#else
	atomic { is_empty = is_quiet && IDLE && number == wake_generation };
#endif
#endif
	if
	:: is_empty -> goto trusts_the_ring
	:: else
	fi;
	/* drain() */
	atomic { has_swept_since[me] = false; is_quiet = false; seen_generation = 0; swept_generation = NOBODY };
#ifdef NEWS
	least = number;
#endif
again:
	admit_due();
	admit_news();
	/* ring.cpp, take() */
	atomic {
		got = ROWS;
		if
		:: MAY_TAKE && candidate[0] -> got = 0
		:: MAY_TAKE && candidate[1] -> got = 1
		:: !MAY_TAKE || (!candidate[0] && !candidate[1])
		fi;
		if
		:: got < ROWS ->
			candidate[got] = false;
			has_in_flight[me] = true;
			change();
			has_changed_since[me] = false
		:: else
		fi
	};
	if
	:: got < ROWS ->
		/* try_claim(): reading the row and locking it are one step for others. */
		atomic {
			is_won = (row[got] == FREE);
			is_gone = (row[got] == ABSENT);
			if
			:: is_won -> row[got] = LOCKED; note_change()
			:: else
			fi
		};
		/* ring.cpp, settle(): one step there. */
		atomic {
			has_won_since = has_won_since || is_won;
			has_gone_since = has_gone_since || is_gone;
			is_silent = is_silent && is_won
		};
#ifdef SLIP_LET_GO_OF_OTHERS
		/* Also those that other backends have taken since. */
		if
		:: !has_in_flight[me] -> has_in_flight[0] = false; has_in_flight[1] = false; has_in_flight[2] = false; has_in_flight[3] = false
		:: else -> has_in_flight[me] = false
		fi;
#else
		has_in_flight[me] = false;
#endif
		if
		:: is_won -> goto won
		:: else -> atomic { is_gone = false; has_changed_since[me] = true }; goto again
		fi
	:: else
	fi;
	/* is_done(): idle again, by the sweep of another backend. */
	is_quiet = (under_way == 0);
	atomic { is_empty = is_quiet && IDLE && number == wake_generation; is_quiet = false };
	if
	:: is_empty -> goto trusts_the_ring
	:: else
	fi;
	/* ring.cpp, is_exhausted() */
	atomic {
		is_empty = has_swept_since[me] && !candidate[0] && !candidate[1] && is_at_end && filler == NOBODY &&
			!is_asked && NONE_DUE && number == wake_generation && NO_FLIGHT && NO_CLAIM && !has_gone_since
	};
	if
	:: is_empty -> goto comes_back_empty
	:: else
	fi;
	/* filler.cpp, take_order(); filling.cpp, begin_fill(): every fill here is a sweep. */
	atomic {
		if
		:: filler == NOBODY -> is_mine = true
		/* is_lost(): there is no such process, or this backend has waited in vain. */
		:: filler != NOBODY && (is_dead[filler] || takeovers < MOST_TAKEOVERS) -> is_mine = true; takeovers++
		:: filler != NOBODY && !is_dead[filler] -> is_mine = false
		fi;
		if
		:: !is_mine && takeovers >= MOST_TAKEOVERS -> goto portable /* filled.is_stuck */
		:: is_mine ->
			filler = me;
#ifndef SLIP_ASKED_LATE
			is_asked = false;
			wake_generation = number;
#endif
			swept_generation = number;
			is_silent = false;
			change_reading();
			sweep();
			has_won_since = false;
			has_gone_since = false
		:: else
		fi
	};
	if
	:: !is_mine ->
		/* wait_for_fill() */
		(filler == NOBODY || is_dead[filler]);
		goto again
	:: else
	fi;
	if
	:: atomic { may_die && me < BACKENDS -> may_die = false; is_dead[me] = true }; goto over
	:: true
	fi;
	/* read(): takes a snapshot; it also reads a row that is locked. */
	atomic {
		seen[0] = (row[0] == FREE || row[0] == LOCKED);
		seen[1] = (row[1] == FREE || row[1] == LOCKED);
		was_to_come[0] = (row[0] == TO_COME);
		was_to_come[1] = (row[1] == TO_COME)
	};
	read_due();
	/* filling.cpp, finish_fill() */
	atomic {
		if
#ifdef SLIP_LATE_FILL
		:: true ->
#else
		:: filler == me -> /* else another backend has taken over, and is_mine is false */
#endif
			filler = NOBODY;
			takeovers = 0;
			is_at_end = true;
#ifdef SLIP_ASKED_LATE
			is_asked = false;
			wake_generation = number;
#endif
#ifdef RANKED
#ifdef SLIP_OFFERS_THROWN_AWAY
			candidate[0] = seen[0];
			candidate[1] = seen[1];
#else
			candidate[0] = candidate[0] || seen[0];
			candidate[1] = candidate[1] || seen[1];
#endif
#else
			candidate[0] = seen[0];
			candidate[1] = seen[1];
#endif
			change();
			if
#ifdef RANKED
			:: !is_asked -> is_silent = true
#else
			:: !is_asked && !seen[0] && !seen[1] -> is_silent = true
#endif
			:: else
			fi
#ifndef SLIP_LATE_FILL
		:: else -> is_mine = false
#endif
		fi
	};
	if
	:: is_mine && !seen[0] && !seen[1] -> goto has_seen_nothing
	:: else -> goto again
	fi;
portable:
	/* portable.cpp, claim_by_statement(): takes a snapshot, then tries one row after the other. */
	atomic { seen[0] = (row[0] == FREE || row[0] == LOCKED); seen[1] = (row[1] == FREE || row[1] == LOCKED) };
	got = 0;
	do
	:: got < ROWS ->
		atomic {
			is_won = (seen[got] && row[got] == FREE);
			if
			:: is_won -> row[got] = LOCKED; note_change()
			:: else -> got++
			fi
		};
		if
		:: is_won -> goto won_by_statement
		:: else
		fi
	:: else -> break
	od;
	/* is_any_pending(): a newer snapshot. The C++ gives up after five tries. A try that finds nothing
	 * although a row was claimable all the time needs a claim by another backend, and here are
	 * three. */
#ifdef SLIP_ONE_SNAPSHOT
	is_empty = true;
#else
	is_empty = (row[0] == ABSENT || row[0] == TO_COME) && (row[1] == ABSENT || row[1] == TO_COME);
#endif
	if
	:: is_empty -> goto comes_back_empty
	:: else -> goto portable
	fi;
won_by_statement:
	/* transaction_callbacks.cpp, after_abort(): the row that was written was locked until now. */
	if
	:: atomic { assert(row[got] == LOCKED); row[got] = ABSENT }
#if defined(DUE) && defined(NEWS)
	/* The trigger announces the row. */
	:: under_way++;
		atomic { assert(row[got] == LOCKED); row[got] = TO_COME; write_version(got); is_leasing[got] = true };
		atomic { note_event(VERSION(got)); is_leasing[got] = false };
		under_way--
#endif
	:: atomic { assert(row[got] == LOCKED); row[got] = FREE; is_untold[got] = true; is_undone[got] = true };
		atomic { note_event(NOBODY); is_untold[got] = false; is_undone[got] = false }
	fi;
	goto over;
won:
	/* The transaction ends: by a commit, and the job is done, or leased, or by a rollback. */
	if
	:: atomic { assert(row[got] == LOCKED); row[got] = ABSENT }
#ifdef DUE
	:: atomic { assert(row[got] == LOCKED); row[got] = TO_COME; write_version(got); is_leasing[got] = true };
		atomic {
#ifndef SLIP_LEASE_UNTOLD
#ifdef NEWS
			expect_row(got, VERSION(got));
#else
			due[got] = true;
#endif
#endif
			is_leasing[got] = false
		}
#endif
	:: atomic { assert(row[got] == LOCKED); row[got] = FREE; is_untold[got] = true; is_undone[got] = true };
		put_back(got)
	fi;
	goto over;
has_seen_nothing:
	assert(was_empty[me]);
	goto over;
trusts_the_ring:
#if BACKENDS == 3
	/* While another commits, a third may take the row that was there. */
	assert(was_told_empty[me]);
#else
	assert(was_known_empty[me]);
#endif
	goto over;
comes_back_empty:
#if defined(DUE) && !defined(RANKED)
	assert(!was_free_0[me] && !was_free_1[me]);
#else
	assert(was_told_empty[me]);
#endif
over:
	/* Resets the variables that are not needed any more, so that they make no new states. */
#ifdef NEWS
	least = 0;
#endif
#if defined(DUE) && !defined(RANKED)
	atomic { was_free_0[me] = false; was_free_1[me] = false };
#endif
	atomic { got = 0; seen_generation = 0; swept_generation = 0; is_quiet = false; is_empty = false; is_mine = false; is_won = false; is_gone = false; seen[0] = false; seen[1] = false; was_to_come[0] = false; was_to_come[1] = false;
		was_empty[me] = true; was_told_empty[me] = true; was_known_empty[me] = true; has_swept_since[me] = true; has_changed_since[me] = true }
}

proctype backend(byte me)
{
#ifdef NEWS
	byte least, from, told;
	bool is_told;
#endif
	byte got, seen_generation, swept_generation;
	bool is_quiet, is_empty, is_mine, is_won, is_gone, seen[ROWS], was_to_come[ROWS], is_to_come[ROWS];
	byte ops;
	byte which;

next:
	if
	:: ops < (me == 0 -> OPERATIONS : 1) && !is_dead[me] ->
		ops++;
		if
		:: atomic { row[0] == ABSENT && !is_being_sent[0] -> is_being_sent[0] = true; which = 0 }; send(which); goto next
		:: atomic { row[1] == ABSENT && !is_being_sent[1] -> is_being_sent[1] = true; which = 1 }; send(which); goto next
		:: pop(); goto next
		fi
	:: else
	fi;
	finished++
}

#ifdef DUE
/* A row that is to come can be claimed from some moment on. */
proctype clock()
{
	do
	:: atomic { row[0] == TO_COME && !is_leasing[0] -> row[0] = FREE }
	:: atomic { row[1] == TO_COME && !is_leasing[1] -> row[1] = FREE }
	:: atomic { is_over -> break }
	od
}
#endif

/* Pops when all others have finished: it finds a row that is left, unless a wake-up was lost. */
proctype last(byte me)
{
#ifdef NEWS
	byte least, from, told;
	bool is_told;
#endif
	byte got, seen_generation, swept_generation;
	bool is_quiet, is_empty, is_mine, is_won, is_gone, seen[ROWS], was_to_come[ROWS], is_to_come[ROWS];

	(finished == BACKENDS);
	pop();
	is_over = true
}

init
{
	atomic {
		/* As change(), sweep() and note_change() leave the flags of a backend that does nothing. */
		change();
		change_reading();
		sweep();
		was_empty[0] = true; was_empty[1] = true; was_empty[2] = true; was_empty[3] = true;
		was_told_empty[0] = true; was_told_empty[1] = true; was_told_empty[2] = true; was_told_empty[3] = true;
		was_known_empty[0] = true; was_known_empty[1] = true; was_known_empty[2] = true; was_known_empty[3] = true
	};
	/* One of the rows may exist before; which one makes no difference. */
	if
	:: row[0] = FREE
	:: row[0] = ABSENT
#ifdef DUE
	:: row[0] = TO_COME
#endif
	fi;
#ifdef HELD
	row[1] = LOCKED; /* by another transaction, all the time */
#endif
	atomic {
		run backend(0); run backend(1);
#if BACKENDS == 3
		run backend(2);
#endif
#ifdef DUE
		run clock();
#endif
		run last(3)
	}
}
