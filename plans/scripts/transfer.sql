-- Moves an amount between two accounts, as long as both together are not deep in debt.
\set payer random(1, 100000 * :scale)
\set payee random(1, 100000 * :scale)
\set amount random(1, 100)
BEGIN;
SELECT abalance FROM pgbench_accounts WHERE aid = least(:payer, :payee) FOR UPDATE \gset first_
SELECT abalance FROM pgbench_accounts WHERE aid = greatest(:payer, :payee) FOR UPDATE \gset second_
\if :first_abalance + :second_abalance > -10000
  UPDATE pgbench_accounts SET abalance = abalance - :amount WHERE aid = :payer;
  UPDATE pgbench_accounts SET abalance = abalance + :amount WHERE aid = :payee;
\endif
COMMIT;
