/* Makes each call of an executor node of PostgreSQL a loop of TURNS turns dearer: a change in one executor node, of
 * which a count has to name the function and only the queries that use the node. NODE is the type of the node's state;
 * without it, IndexScanState. Both arms load the library, the base with no turns:
 *
 *     cc -O2 -g -shared -fPIC -DTURNS=8 -DNODE=WindowAggState -I HEADERS -o /opt/plant_8.so tools/plant_node.c  # and 0
 *     dyno race '18;shared_preload_libraries=/opt/plant_0.so' '18;shared_preload_libraries=/opt/plant_8.so' \
 *         --workload app/ --restore app.dump --count
 *
 * HEADERS are those of a server of the same major version: `pg_config --includedir-server`. */
#include "postgres.h"

#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"

PG_MODULE_MAGIC;

#ifndef NODE
#define NODE IndexScanState
#endif
#define IS_OF(node, type) IsA(node, type) /* expands NODE before IsA makes a tag of its name */

static ExecutorStart_hook_type before;
static ExecProcNodeMtd plain;

pg_noinline static TupleTableSlot *planted_node(PlanState *node)
{
    uint64 mixed = (uint64)(uintptr_t)node;

    for (int turn = 0; turn < TURNS; turn++)
        mixed = (mixed ^ (mixed >> 29)) * UINT64CONST(0x9E3779B97F4A7C15);
    __asm__ volatile("" : : "r"(mixed));
    return plain(node);
}

static bool plant(PlanState *node, void *context)
{
    if (node == NULL)
        return false;
    if (IS_OF(node, NODE)) {
        plain = node->ExecProcNodeReal;
        node->ExecProcNodeReal = planted_node;
    }
    return planstate_tree_walker(node, plant, context);
}

static void start(QueryDesc *query, int flags)
{
    if (before)
        before(query, flags);
    else
        standard_ExecutorStart(query, flags);
    plant(query->planstate, NULL);
}

void _PG_init(void);

void _PG_init(void)
{
    before = ExecutorStart_hook;
    ExecutorStart_hook = start;
}
