CREATE TABLE run (
  run_id TEXT NOT NULL,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  job TEXT NOT NULL,
  user TEXT NOT NULL,
  tags JSON NOT NULL,
  edited_name TEXT,
  edited_tags JSON,
  notes TEXT NOT NULL,
  command JSON NOT NULL,
  script TEXT,
  config JSON NOT NULL,
  overrides JSON NOT NULL,
  advice_of TEXT,
  replay JSON,
  trackers JSON NOT NULL,
  agent_version TEXT,
  python_version TEXT,
  torch_version TEXT,
  cuda_version TEXT,
  hip_version TEXT,
  cudnn_version TEXT,
  started_by TEXT,
  launcher TEXT,
  restart_count BIGINT,
  slurm_job_id TEXT,
  namespace TEXT,
  train_job TEXT,
  queue TEXT,
  world_size INTEGER NOT NULL,
  started_at BIGINT NOT NULL,
  last_seen_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  ended_at BIGINT,
  exit_reason TEXT,
  open_ranks INTEGER NOT NULL,
  crashed_ranks INTEGER NOT NULL,
  judged_at BIGINT,
  judged_status TEXT,
  loader TEXT,
  bound TEXT NOT NULL,
  level TEXT NOT NULL,
  cause TEXT,
  data_stall_fraction FLOAT,
  max_data_stall_fraction FLOAT,
  steps_per_s FLOAT,
  samples_per_s FLOAT,
  step_us BIGINT,
  hours_lost FLOAT,
  gpu_hours_lost FLOAT,
  hours_used FLOAT,
  predicted_speedup FLOAT,
  least_speedup FLOAT,
  best_advice JSON,
  observed_speedup FLOAT,
  observed_low FLOAT,
  spark JSON NOT NULL,
  archived_at BIGINT,
  deleted_at BIGINT,
  touched_at BIGINT,
  judge TEXT,
  judge_until BIGINT,
  CONSTRAINT pk_run PRIMARY KEY (run_id)
);
CREATE INDEX ix_run_listed ON run (changed_at, run_id, deleted_at, archived_at, started_at, last_seen_at, ended_at, open_ranks, crashed_ranks, hours_lost, hours_used, gpu_hours_lost, cause);
CREATE INDEX ix_run_project ON run (project);
CREATE INDEX ix_run_started_at ON run (started_at);
CREATE INDEX ix_run_job ON run (job);
CREATE TABLE diagnosis (
  run_id TEXT NOT NULL,
  body TEXT NOT NULL,
  candidates JSON,
  judged_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  CONSTRAINT pk_diagnosis PRIMARY KEY (run_id)
);
CREATE TABLE tag (
  run_id TEXT NOT NULL,
  "key" TEXT NOT NULL,
  value TEXT NOT NULL,
  CONSTRAINT pk_tag PRIMARY KEY (run_id, "key")
)
  WITHOUT ROWID;
CREATE INDEX ix_tag_key_value ON tag ("key", value);
CREATE TABLE rank (
  run_id TEXT NOT NULL,
  rank INTEGER NOT NULL,
  incarnation BIGINT NOT NULL,
  hostname TEXT,
  pod TEXT,
  local_rank INTEGER,
  host JSON,
  devices JSON NOT NULL,
  gpu_name TEXT,
  not_measured JSON NOT NULL,
  CONSTRAINT pk_rank PRIMARY KEY (run_id, rank)
);
CREATE INDEX ix_rank_run_id_hostname_gpu_name ON rank (run_id, hostname, gpu_name);
CREATE TABLE loader (
  run_id TEXT NOT NULL,
  loader TEXT NOT NULL,
  info JSON NOT NULL,
  num_workers INTEGER,
  CONSTRAINT pk_loader PRIMARY KEY (run_id, loader)
);
CREATE TABLE stream (
  run_id TEXT NOT NULL,
  rank INTEGER NOT NULL,
  incarnation BIGINT NOT NULL,
  last_window_index BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  end_us BIGINT NOT NULL,
  has_run BOOLEAN NOT NULL,
  end_status TEXT,
  exit_reason TEXT,
  exit_code BIGINT,
  dropped_steps BIGINT NOT NULL,
  dropped_batches BIGINT NOT NULL,
  dropped_windows BIGINT NOT NULL,
  rejected_windows BIGINT NOT NULL,
  agent_errors BIGINT NOT NULL,
  overhead_us_total FLOAT NOT NULL,
  overhead_steps BIGINT NOT NULL,
  hot_rows BIGINT NOT NULL,
  hot_windows BIGINT NOT NULL,
  CONSTRAINT pk_stream PRIMARY KEY (run_id, rank, incarnation)
)
  WITHOUT ROWID;
CREATE INDEX ix_stream_hot ON stream (run_id) WHERE hot_windows > 0;
CREATE TABLE track (
  run_id TEXT NOT NULL,
  rank INTEGER NOT NULL,
  incarnation BIGINT NOT NULL,
  lane TEXT NOT NULL,
  rows BIGINT NOT NULL,
  next_index BIGINT NOT NULL,
  step_us_total BIGINT NOT NULL,
  data_wait_us_total BIGINT NOT NULL,
  chunks INTEGER NOT NULL,
  chunk_rows BIGINT NOT NULL,
  chunk_bytes BIGINT NOT NULL,
  dropped_chunks INTEGER NOT NULL,
  dropped_at BIGINT,
  ladder_bytes BIGINT NOT NULL,
  precision_bits INTEGER,
  CONSTRAINT pk_track PRIMARY KEY (run_id, rank, incarnation, lane)
)
  WITHOUT ROWID;
CREATE TABLE epoch (
  run_id TEXT NOT NULL,
  rank INTEGER NOT NULL,
  incarnation BIGINT NOT NULL,
  loader TEXT NOT NULL,
  epoch_index BIGINT NOT NULL,
  program_epoch BIGINT,
  start_us BIGINT NOT NULL,
  iterator_us BIGINT,
  startup_us BIGINT,
  sampler_us BIGINT,
  grad_enabled BOOLEAN,
  graph_built BOOLEAN,
  in_background BOOLEAN,
  first_step_index BIGINT NOT NULL,
  steps BIGINT,
  end_us BIGINT,
  ending_us BIGINT,
  ended TEXT,
  CONSTRAINT pk_epoch PRIMARY KEY (run_id, rank, incarnation, loader, epoch_index)
)
  WITHOUT ROWID;
CREATE TABLE worker_life (
  run_id TEXT NOT NULL,
  rank INTEGER NOT NULL,
  incarnation BIGINT NOT NULL,
  loader TEXT NOT NULL,
  iterator_index BIGINT NOT NULL,
  worker BIGINT NOT NULL,
  epoch_index BIGINT,
  pid BIGINT,
  start_us BIGINT,
  end_us BIGINT,
  ended TEXT,
  CONSTRAINT pk_worker_life PRIMARY KEY (run_id, rank, incarnation, loader, iterator_index, worker)
)
  WITHOUT ROWID;
CREATE TABLE storage (
  run_id TEXT NOT NULL,
  rank INTEGER NOT NULL,
  incarnation BIGINT NOT NULL,
  loader TEXT NOT NULL,
  mount TEXT NOT NULL,
  file_system TEXT,
  device TEXT,
  kind TEXT NOT NULL,
  files_seen BIGINT NOT NULL,
  example TEXT,
  CONSTRAINT pk_storage PRIMARY KEY (run_id, rank, incarnation, loader, mount)
)
  WITHOUT ROWID;
CREATE TABLE loader_settings (
  run_id TEXT NOT NULL,
  rank INTEGER NOT NULL,
  incarnation BIGINT NOT NULL,
  loader TEXT NOT NULL,
  settings JSON NOT NULL,
  CONSTRAINT pk_loader_settings PRIMARY KEY (run_id, rank, incarnation, loader)
)
 WITHOUT ROWID

;
CREATE TABLE read_rate (
  run_id TEXT NOT NULL,
  place TEXT NOT NULL,
  readers FLOAT NOT NULL,
  bytes_per_s FLOAT NOT NULL,
  sample_bytes FLOAT NOT NULL,
  is_limited BOOLEAN NOT NULL,
  measured_at BIGINT NOT NULL,
  CONSTRAINT pk_read_rate PRIMARY KEY (run_id)
)
  WITHOUT ROWID;
CREATE INDEX ix_read_rate_place_measured_at ON read_rate (place, measured_at);
CREATE TABLE peak (
  run_id TEXT NOT NULL,
  rank INTEGER NOT NULL,
  disk_read_bytes_per_s FLOAT,
  disk_written_bytes_per_s FLOAT,
  network_received_bytes_per_s FLOAT,
  network_sent_bytes_per_s FLOAT,
  CONSTRAINT pk_peak PRIMARY KEY (run_id, rank)
)
  WITHOUT ROWID;
CREATE TABLE hot (
  run_id TEXT NOT NULL,
  rank INTEGER NOT NULL,
  incarnation BIGINT NOT NULL,
  window_index BIGINT NOT NULL,
  rows INTEGER NOT NULL,
  encoding TEXT NOT NULL,
  body BLOB NOT NULL,
  CONSTRAINT pk_hot PRIMARY KEY (run_id, rank, incarnation, window_index)
);
CREATE TABLE stacks (
  run_id TEXT NOT NULL,
  rank INTEGER NOT NULL,
  incarnation BIGINT NOT NULL,
  loader TEXT NOT NULL,
  window_index BIGINT NOT NULL,
  body BLOB NOT NULL,
  CONSTRAINT pk_stacks PRIMARY KEY (run_id, rank, incarnation, loader)
);
CREATE TABLE tuning (
  run_id TEXT NOT NULL,
  rank INTEGER NOT NULL,
  incarnation BIGINT NOT NULL,
  loader TEXT NOT NULL,
  body BLOB NOT NULL,
  CONSTRAINT pk_tuning PRIMARY KEY (run_id, rank, incarnation, loader)
);
CREATE TABLE host_switch (
  run_id TEXT NOT NULL,
  rank INTEGER NOT NULL,
  incarnation BIGINT NOT NULL,
  window_index BIGINT NOT NULL,
  body JSON NOT NULL,
  CONSTRAINT pk_host_switch PRIMARY KEY (run_id, rank)
);
CREATE TABLE chunk (
  run_id TEXT NOT NULL,
  rank INTEGER NOT NULL,
  incarnation BIGINT NOT NULL,
  lane TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  rows INTEGER NOT NULL,
  first_index BIGINT NOT NULL,
  first_us BIGINT NOT NULL,
  rollups BLOB NOT NULL,
  body BLOB NOT NULL,
  CONSTRAINT pk_chunk PRIMARY KEY (run_id, rank, incarnation, lane, ordinal)
);
CREATE INDEX ix_chunk_run_id_rank_incarnation_lane_first_index ON chunk (run_id, rank, incarnation, lane, first_index);
CREATE TABLE rollup (
  run_id TEXT NOT NULL,
  rank INTEGER NOT NULL,
  incarnation BIGINT NOT NULL,
  lane TEXT NOT NULL,
  level INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  body BLOB NOT NULL,
  CONSTRAINT pk_rollup PRIMARY KEY (run_id, rank, incarnation, lane, level, ordinal)
)
  WITHOUT ROWID;
CREATE TABLE histogram (
  run_id TEXT NOT NULL,
  rank INTEGER NOT NULL,
  incarnation BIGINT NOT NULL,
  lane TEXT NOT NULL,
  measure TEXT NOT NULL,
  level INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  body BLOB NOT NULL,
  CONSTRAINT pk_histogram PRIMARY KEY (run_id, rank, incarnation, lane, measure, level, ordinal)
)
  WITHOUT ROWID;
CREATE TABLE token (
  digest BLOB NOT NULL,
  token_id TEXT NOT NULL,
  name TEXT NOT NULL,
  scopes JSON NOT NULL,
  project TEXT,
  made_at BIGINT NOT NULL,
  expires_at BIGINT,
  last_used_at BIGINT,
  revoked_at BIGINT,
  CONSTRAINT pk_token PRIMARY KEY (digest)
);
CREATE UNIQUE INDEX ix_token_token_id ON token (token_id);
CREATE TABLE session (
  digest BLOB NOT NULL,
  token_id TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  CONSTRAINT pk_session PRIMARY KEY (digest)
);
CREATE TABLE project (
  project TEXT NOT NULL,
  retain_us BIGINT,
  max_bytes BIGINT,
  precision_bits INTEGER,
  archive_after_us BIGINT,
  delete_after_us BIGINT,
  CONSTRAINT pk_project PRIMARY KEY (project)
);
CREATE TABLE config_value (
  run_id TEXT NOT NULL,
  "key" TEXT NOT NULL,
  value JSON NOT NULL,
  number FLOAT,
  text TEXT,
  CONSTRAINT pk_config_value PRIMARY KEY (run_id, "key")
)
 WITHOUT ROWID;
CREATE INDEX ix_config_value_key ON config_value ("key");
CREATE TABLE "view" (
  view_id TEXT NOT NULL,
  project TEXT,
  name TEXT NOT NULL,
  "query" TEXT NOT NULL,
  made_by TEXT NOT NULL,
  changed_at BIGINT NOT NULL,
  CONSTRAINT pk_view PRIMARY KEY (view_id)
);
CREATE TABLE removed_run (
  run_id TEXT NOT NULL,
  project TEXT NOT NULL,
  user TEXT NOT NULL,
  started_at BIGINT NOT NULL,
  ended_at BIGINT NOT NULL,
  hours_lost FLOAT NOT NULL,
  hours_used FLOAT NOT NULL,
  gpu_hours_lost FLOAT,
  cause TEXT,
  best_advice JSON,
  places JSON NOT NULL,
  ledger JSON NOT NULL,
  CONSTRAINT pk_removed_run PRIMARY KEY (run_id)
);
CREATE INDEX ix_removed_run_ended_at ON removed_run (ended_at);
CREATE TABLE counted_run (
  run_id TEXT NOT NULL,
  project TEXT NOT NULL,
  user TEXT NOT NULL,
  bound TEXT,
  gpu_us BIGINT NOT NULL,
  CONSTRAINT pk_counted_run PRIMARY KEY (run_id)
);
CREATE TABLE counted_loss (
  run_id TEXT NOT NULL,
  cause TEXT NOT NULL,
  project TEXT NOT NULL,
  user TEXT NOT NULL,
  gpu_lost_us BIGINT NOT NULL,
  CONSTRAINT pk_counted_loss PRIMARY KEY (run_id, cause)
);
CREATE TABLE audit (
  entry_id TEXT NOT NULL,
  at BIGINT NOT NULL,
  "by" TEXT NOT NULL,
  token_id TEXT,
  action TEXT NOT NULL,
  project TEXT,
  run_id TEXT,
  name TEXT NOT NULL,
  "before" JSON,
  "after" JSON,
  CONSTRAINT pk_audit PRIMARY KEY (entry_id)
);
CREATE INDEX ix_audit_run_id_entry_id ON audit (run_id, entry_id);
CREATE TABLE channel (
  channel_id TEXT NOT NULL,
  project TEXT,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  target TEXT NOT NULL,
  sealed TEXT NOT NULL,
  made_by TEXT NOT NULL,
  made_at BIGINT NOT NULL,
  CONSTRAINT pk_channel PRIMARY KEY (channel_id)
);
CREATE TABLE alert_rule (
  rule_id TEXT NOT NULL,
  project TEXT,
  user TEXT,
  condition TEXT NOT NULL,
  threshold FLOAT,
  for_us BIGINT NOT NULL,
  cool_down_us BIGINT NOT NULL,
  tells_recovery BOOLEAN NOT NULL,
  channel_id TEXT NOT NULL,
  page_url TEXT NOT NULL,
  made_by TEXT NOT NULL,
  made_at BIGINT NOT NULL,
  CONSTRAINT pk_alert_rule PRIMARY KEY (rule_id)
);
CREATE TABLE alert_state (
  run_id TEXT NOT NULL,
  rule_id TEXT NOT NULL,
  version BIGINT NOT NULL,
  since_at BIGINT,
  clear_at BIGINT,
  is_raised BOOLEAN NOT NULL,
  told JSON NOT NULL,
  bound TEXT,
  CONSTRAINT pk_alert_state PRIMARY KEY (run_id, rule_id)
)
 WITHOUT ROWID;
CREATE TABLE alert (
  alert_id TEXT NOT NULL,
  made_at BIGINT NOT NULL,
  channel_id TEXT NOT NULL,
  rule_id TEXT,
  run_id TEXT,
  project TEXT,
  message JSON NOT NULL,
  attempts INTEGER NOT NULL,
  due_at BIGINT,
  sender TEXT,
  sender_until BIGINT,
  sent_at BIGINT,
  error TEXT,
  CONSTRAINT pk_alert PRIMARY KEY (alert_id)
);
CREATE INDEX ix_alert_due ON alert (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX ix_alert_made_at ON alert (made_at);
CREATE TABLE alembic_version (
  version_num VARCHAR(32) NOT NULL,
  CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO alembic_version VALUES ('1')
