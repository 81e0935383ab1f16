// finish_receipt.cpp - see finish_receipt.hpp.

#include "../postgres.hpp"

#include "finish_receipt.hpp"

#include "../argument.hpp"
#include "../array.hpp"
#include "../error.hpp"
#include "../result.hpp"
#include "finish_call.hpp"
#include "receipt.hpp"

namespace queue_ext::queue {

using definition::Definition;

// Finishes the row of the receipt, and makes the new one for extend. Opens the queue again when the
// row has been read: that may run user-defined code, which may have changed the queue.
static bool
finish(Definition *opened, const text *name, Action action, const ReceiptBytes &receipt,
	   const FinishOptions &options, text **renewed)
{
	const statement::Row job = row_of_receipt(opened, receipt);
	Definition *definition = open_to_finish(name, action);
	if (definition != opened)
		check_receipt(definition, receipt);
	Datum extended = 0;
	const bool is_done = finish_and_wake(definition, action, job, options, &extended);
	if (is_done && action == Action::extend)
		*renewed =
			make_receipt(definition, {extended, statement::columns_of(definition->row_type)});
	return is_done;
}

bool
finish_receipt(FunctionCallInfo fcinfo, Action action, const FinishOptions &options, text **renewed)
{
	const text *name = argument::required_text(fcinfo, 0, "queue");
	const text *receipt = argument::required_text(fcinfo, 1, "receipt");
	Definition *definition = open_to_finish(name, action);
	return finish(definition, name, action, parse_receipt(receipt), options, renewed);
}

namespace {

// One of many receipts, and what has come of it.
struct Element
{
	int position; // in the call
	ReceiptBytes bytes;
	Datum receipt;
	text *error;    // fail; or null
	Datum progress; // extend; a jsonb, or 0
	Datum outcome;  // the receipt, for extend the new one; 0: it was not good
};

// Those of a call.
struct Elements
{
	Element *elements;
	int count;
};

} // namespace

// Reads an array of as many elements as there are receipts, in which 0 stands for a null. Null: there is no array.
static const Datum *
read_beside(ArrayType *array, const char *what, int count)
{
	if (array == nullptr)
		return nullptr;
	Datum *values;
	bool *nulls;
	int length;
	deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_INT, &values, &nulls,
					  &length);
	if (length != count)
		error::length_mismatch("receipts", count, what, length);
	for (int i = 0; i < count; i++)
		if (nulls[i])
			values[i] = 0;
	return values;
}

// Reads argument 1, and the errors or progress.
static Elements
read_elements(FunctionCallInfo fcinfo, const FinishOptions &options)
{
	ArrayType *receipts = argument::required_array(fcinfo, 1, "receipts");
	Datum *values;
	bool *nulls;
	int count;
	deconstruct_array(receipts, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &count);
	const Datum *errors = read_beside(options.errors, "errors", count);
	const Datum *progresses = read_beside(options.progresses, "progress", count);
	auto *elements = allocate<Element>(count);
	for (int i = 0; i < count; i++) {
		if (nulls[i])
			error::null_element("receipts");
		elements[i] = {i, {}, values[i], nullptr, 0, 0};
		if (errors != nullptr && errors[i] != 0)
			elements[i].error = DatumGetTextPP(errors[i]);
		if (progresses != nullptr)
			elements[i].progress = progresses[i];
	}
	return {elements, count};
}

static int
compare_bytes(const ReceiptBytes &left, const ReceiptBytes &right)
{
	const int order = memcmp(left.start, right.start, Min(left.length, right.length));
	return order != 0 ? order : left.length - right.length;
}

static int
by_bytes(const void *left, const void *right)
{
	const auto *one = static_cast<const Element *>(left);
	const auto *other = static_cast<const Element *>(right);
	const int order = compare_bytes(one->bytes, other->bytes);
	return order != 0 ? order : one->position - other->position;
}

static int
by_position(const void *left, const void *right)
{
	return static_cast<const Element *>(left)->position -
		   static_cast<const Element *>(right)->position;
}

// Opens the queue anew: what the rows before have run may have changed it.
static Datum
finish_element(const text *name, Action action, const Element &element, FinishOptions options)
{
	options.error = element.error;
	options.errors = nullptr;
	options.progress = element.progress;
	options.progresses = nullptr;
	text *renewed = nullptr;
	Definition *definition = open_to_finish(name, action);
	if (!finish(definition, name, action, element.bytes, options, &renewed))
		return 0;
	return action == Action::extend ? PointerGetDatum(renewed) : element.receipt;
}

// Finishes the rows in the order of the bytes, so that two such calls cannot deadlock. A receipt
// that is given twice is finished once; extended, both have the new one.
static void
finish_elements(const text *name, Action action, const FinishOptions &options, Elements all)
{
	MemoryContext outcomes = CurrentMemoryContext;
	MemoryContext scratch =
		AllocSetContextCreate(outcomes, "queue_ext receipt", ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < all.count; i++) {
		CHECK_FOR_INTERRUPTS();
		Element *element = &all.elements[i];
		if (i > 0 && compare_bytes(element[-1].bytes, element->bytes) == 0) {
			element->outcome = action == Action::extend ? element[-1].outcome : 0;
			continue;
		}
		MemoryContextSwitchTo(scratch);
		const Datum outcome = finish_element(name, action, *element, options);
		MemoryContextSwitchTo(outcomes);
		if (outcome != 0)
			element->outcome = datumCopy(outcome, false, -1);
		MemoryContextReset(scratch);
	}
	MemoryContextDelete(scratch);
}

// The queue is opened, and so the caller's rights are checked, even for no receipts.
Datum
finish_receipts(FunctionCallInfo fcinfo, Action action, const FinishOptions &options)
{
	ReturnSetInfo *result = result::begin_set(fcinfo);
	const text *name = argument::required_text(fcinfo, 0, "queue");
	const Elements all = read_elements(fcinfo, options);
	(void) open_to_finish(name, action);
	for (int i = 0; i < all.count; i++)
		all.elements[i].bytes = parse_receipt(DatumGetTextPP(all.elements[i].receipt));
	qsort(all.elements, all.count, sizeof(Element), by_bytes);
	finish_elements(name, action, options, all);
	qsort(all.elements, all.count, sizeof(Element), by_position);
	for (int i = 0; i < all.count; i++) {
		bool is_null = all.elements[i].outcome == 0;
		if (!is_null || action == Action::extend)
			tuplestore_putvalues(result->setResult, result->setDesc, &all.elements[i].outcome,
								 &is_null);
	}
	return static_cast<Datum>(0);
}

} // namespace queue_ext::queue
