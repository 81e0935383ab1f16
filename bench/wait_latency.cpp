// wait_latency.cpp - the time from the call of queue_send() to a worker's having the job.
//
//   wait_latency CONNECTION wait|poll|listen WAITERS SECONDS
//
// Prints the number of jobs, the 50th, 99th and 99.9th percentile in milliseconds, and how many times
// the workers have looked for each job. Each job carries the time at which it was sent.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <poll.h>
#include <string>
#include <thread>
#include <vector>

#include <libpq-fe.h>

using Clock = std::chrono::steady_clock;

static std::atomic<bool> is_over{false};
static std::atomic<long> looks{0};
static std::mutex mutex;
static std::vector<double> latencies;

static double
now()
{
	return std::chrono::duration<double, std::milli>(Clock::now().time_since_epoch()).count();
}

static PGconn *
connect(const char *where)
{
	PGconn *connection = PQconnectdb(where);
	if (PQstatus(connection) != CONNECTION_OK) {
		fprintf(stderr, "%s", PQerrorMessage(connection));
		exit(1);
	}
	return connection;
}

static PGresult *
run(PGconn *connection, const char *text)
{
	PGresult *result = PQexec(connection, text);
	const ExecStatusType status = PQresultStatus(result);
	if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
		fprintf(stderr, "%s", PQerrorMessage(connection));
		exit(1);
	}
	return result;
}

// Runs a claim; true if it returned a job, whose latency it records.
static bool
look(PGconn *connection, const char *text, int column)
{
	PGresult *result = run(connection, text);
	const double at = now();
	looks++;
	const bool has_job = PQntuples(result) == 1 && PQgetisnull(result, 0, column) == 0;
	if (has_job) {
		const double sent = strtod(PQgetvalue(result, 0, column), nullptr);
		const std::lock_guard<std::mutex> guard(mutex);
		if (sent > 0)
			latencies.push_back(at - sent);
	}
	PQclear(result);
	return has_job;
}

static void
wait_for_input(PGconn *connection, int ms)
{
	pollfd input{PQsocket(connection), POLLIN, 0};
	(void) poll(&input, 1, ms);
	PQconsumeInput(connection);
	while (PGnotify *notify = PQnotifies(connection))
		PQfreemem(notify);
}

static void
work(const char *where, const std::string &way)
{
	PGconn *connection = connect(where);
	if (way == "listen")
		PQclear(run(connection, "listen jobs"));
	while (!is_over) {
		if (way == "wait") {
			(void) look(connection, "call queue_pop_wait('jobs', '1 second')", 2);
			continue;
		}
		if (look(connection, "select payload from queue_pop('jobs')", 0))
			continue;
		if (way == "poll")
			std::this_thread::sleep_for(std::chrono::milliseconds(100));
		else
			wait_for_input(connection, 1000);
	}
	PQfinish(connection);
}

static double
percentile(double share)
{
	const size_t rank = static_cast<size_t>(std::ceil(share * latencies.size()));
	return latencies[std::min(std::max<size_t>(rank, 1), latencies.size()) - 1];
}

int
main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: wait_latency CONNECTION wait|poll|listen WAITERS SECONDS\n");
		return 2;
	}
	const std::string way = argv[2];
	std::vector<std::thread> workers;
	for (int i = 0; i < atoi(argv[3]); i++)
		workers.emplace_back(work, argv[1], way);
	PGconn *sender = connect(argv[1]);
	std::this_thread::sleep_for(std::chrono::seconds(1));
	looks = 0;
	const double end = now() + atof(argv[4]) * 1000;
	long jobs = 0;
	for (double next = now(); next < end; next += 5) {
		while (now() < next)
			std::this_thread::sleep_for(std::chrono::microseconds(200));
		char text[160];
		snprintf(text, sizeof(text), "select queue_send('jobs', '%.6f')%s", now(),
				 way == "listen" ? ", pg_notify('jobs', '')" : "");
		PQclear(run(sender, text));
		jobs++;
	}
	std::this_thread::sleep_for(std::chrono::milliseconds(500));
	const long seen = looks;
	is_over = true;
	for (std::thread &worker : workers)
		worker.join();
	if (latencies.empty())
		return 1;
	std::sort(latencies.begin(), latencies.end());
	printf("%zu %.2f %.2f %.2f %.2f\n", latencies.size(), percentile(0.5), percentile(0.99),
		   percentile(0.999), static_cast<double>(seen) / jobs);
	PQfinish(sender);
	return 0;
}
