-- Moves an amount between two accounts, as long as both together are not deep in debt. Locks are taken in one order.
\set payer random(1, 100000 * :scale)
\set payee random(1, 100000 * :scale)
\set amount random(1, 100)
\set lower least(:payer, :payee)
\set higher greatest(:payer, :payee)
BEGIN;
SELECT abalance FROM pgbench_accounts WHERE aid = :lower FOR UPDATE \gset lower_
SELECT abalance FROM pgbench_accounts WHERE aid = :higher FOR UPDATE \gset higher_
\if :lower_abalance + :higher_abalance > -10000
  UPDATE pgbench_accounts SET abalance = abalance - :amount WHERE aid = :payer;
  UPDATE pgbench_accounts SET abalance = abalance + :amount WHERE aid = :payee;
\endif
COMMIT;
