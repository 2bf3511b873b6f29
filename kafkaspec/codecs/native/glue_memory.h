/* Memory that the core has filled, in the hands of Python. */
#ifndef KAFKASPEC_GLUE_MEMORY_H
#define KAFKASPEC_GLUE_MEMORY_H

#include "glue.h"
#include "messages.h"

/* Hand memory to Python, without what is not used of it; None if it is not wanted. */
PyObject *glue_taken(PyTypeObject *type, km_memory *memory, int wanted);

#endif
