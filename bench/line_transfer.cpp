// line_transfer.cpp - how long a cache line takes from one CPU to another, in nanoseconds: two threads
// write it in turns. Prints the fastest of many short rounds, since a busy machine interrupts others.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <vector>

namespace {

constexpr int rounds = 1000;
constexpr int turns = 2000;
constexpr int line = 64;

alignas(line) std::atomic<int> turn;

void
pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

void
take_turns(int cpu, int mine)
{
	pin(cpu);
	for (int i = mine; i < turns; i += 2) {
		while (turn.load(std::memory_order_acquire) != i) {
		}
		turn.store(i + 1, std::memory_order_release);
	}
}

} // namespace

int
main()
{
	std::vector<double> samples;
	for (int round = 0; round < rounds; round++) {
		turn = 0;
		const auto begun = std::chrono::steady_clock::now();
		std::thread other(take_turns, 1, 1);
		take_turns(0, 0);
		other.join();
		const std::chrono::duration<double, std::nano> passed =
			std::chrono::steady_clock::now() - begun;
		samples.push_back(passed.count() / turns);
	}
	std::printf("%.0f\n", *std::min_element(samples.begin(), samples.end()));
}
