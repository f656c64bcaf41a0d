/* Makes each call of an Index Scan node of PostgreSQL a loop of TURNS turns dearer: a change in one executor node, of
 * which a count has to name the function and only the queries that use the node. Both arms load it, the base with
 * no turns:
 *
 *     cc -O2 -g -shared -fPIC -DTURNS=400 -I SOURCE/src/include -o /opt/plant_400.so tools/plant_node.c   # and 0
 *     dyno race '18;shared_preload_libraries=/opt/plant_0.so' '18;shared_preload_libraries=/opt/plant_400.so' \
 *         --workload app/ --restore app.dump --count
 *
 * SOURCE is a configured source of the same major version. */
#include "postgres.h"

#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"

PG_MODULE_MAGIC;

static ExecutorStart_hook_type before;
static ExecProcNodeMtd plain;

pg_noinline static TupleTableSlot *planted_index_scan(PlanState *node)
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
    if (IsA(node, IndexScanState)) {
        plain = node->ExecProcNodeReal;
        node->ExecProcNodeReal = planted_index_scan;
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
