-- Reads an account; hot ones more often.
\set hot random_zipfian(1, 100000 * :scale, 1.1)
\set aid 1 + permute(:hot - 1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
