// finding.cpp - see finding.hpp.

#include "../postgres.hpp"

#include "finding.hpp"

namespace queue_ext::health {

// In seconds.
static int patience = 300;

void
define_patience()
{
	DefineCustomIntVariable("queue_ext.health_patience",
							"Sets how long queue_health() takes no notice of what may pass.",
							"That is open transactions, and ready jobs that no worker takes.",
							&patience, patience, 0, INT_MAX, PGC_USERSET, GUC_UNIT_S, nullptr,
							nullptr, nullptr);
}

int64
patience_us()
{
	return patience * USECS_PER_SEC;
}

static const char *
name_of(Severity severity)
{
	switch (severity) {
		case Severity::critical:
			return "critical";
		case Severity::warning:
			return "warning";
		case Severity::info:
			return "info";
	}
	pg_unreachable();
}

void
put(const Findings &findings, const char *queue, const Finding &finding)
{
	Datum values[] = {
		CStringGetTextDatum(finding.name),
		CStringGetTextDatum(name_of(finding.severity)),
		queue == nullptr ? static_cast<Datum>(0) : CStringGetTextDatum(queue),
		CStringGetTextDatum(finding.detail),
		CStringGetTextDatum(finding.hint),
	};
	bool nulls[lengthof(values)] = {};
	nulls[2] = queue == nullptr;
	tuplestore_putvalues(findings.result->setResult, findings.result->setDesc, values, nulls);
}

const char *
moment_text(TimestampTz moment)
{
	return pstrdup(timestamptz_to_str(moment));
}

} // namespace queue_ext::health
