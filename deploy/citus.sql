-- Spreads the runs of an Underfed database over the workers of a Citus cluster: each run lies whole on one of them.
-- Run it once as psql --file, after the first start of the service (which makes the tables), while none runs.
BEGIN;
SELECT create_distributed_table('run', 'run_id');
SELECT create_distributed_table('chunk', 'run_id', colocate_with => 'run');
SELECT create_distributed_table('config_value', 'run_id', colocate_with => 'run');
SELECT create_distributed_table('diagnosis', 'run_id', colocate_with => 'run');
SELECT create_distributed_table('epoch', 'run_id', colocate_with => 'run');
SELECT create_distributed_table('histogram', 'run_id', colocate_with => 'run');
SELECT create_distributed_table('hot', 'run_id', colocate_with => 'run');
SELECT create_distributed_table('loader', 'run_id', colocate_with => 'run');
SELECT create_distributed_table('loader_settings', 'run_id', colocate_with => 'run');
SELECT create_distributed_table('rank', 'run_id', colocate_with => 'run');
SELECT create_distributed_table('read_rate', 'run_id', colocate_with => 'run');
SELECT create_distributed_table('rollup', 'run_id', colocate_with => 'run');
SELECT create_distributed_table('storage', 'run_id', colocate_with => 'run');
SELECT create_distributed_table('stacks', 'run_id', colocate_with => 'run');
SELECT create_distributed_table('peak', 'run_id', colocate_with => 'run');
SELECT create_distributed_table('stream', 'run_id', colocate_with => 'run');
SELECT create_distributed_table('tag', 'run_id', colocate_with => 'run');
SELECT create_distributed_table('track', 'run_id', colocate_with => 'run');
SELECT create_distributed_table('worker_life', 'run_id', colocate_with => 'run');
SELECT create_reference_table('audit');
SELECT create_reference_table('project');
SELECT create_reference_table('removed_run');
SELECT create_reference_table('session');
SELECT create_reference_table('token');
SELECT create_reference_table('view');
COMMIT;
