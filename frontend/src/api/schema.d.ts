// Made by `npm run codegen` from openapi.json, SHA-256 cc21b1a8954d7d51f87319a42dd2e523ccfab5ae251ab1e727f36ac1f27a6672. Not edited by hand.
export interface paths {
    "/api/v1/alerts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Alerts
         * @description Channels and rules; who sees some projects alone sees theirs.
         */
        get: operations["alerts_api_v1_alerts_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts/channels": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make Channel
         * @description Add a channel. Of a webhook this answer holds the secret that its messages are signed with.
         */
        post: operations["make_channel_api_v1_alerts_channels_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts/channels/{channel_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete Channel
         * @description Remove a channel and its rules; what waits to be sent there is not sent.
         */
        delete: operations["delete_channel_api_v1_alerts_channels__channel_id__delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts/channels/{channel_id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Test Channel
         * @description Send a message that says only that it came. The log says, under the id in this answer, whether it did.
         */
        post: operations["test_channel_api_v1_alerts_channels__channel_id__test_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Log
         * @description Messages that were sent, wait, or failed, newest first.
         */
        get: operations["log_api_v1_alerts_log_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts/log/{alert_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Logged
         * @description One message, and what became of it.
         */
        get: operations["logged_api_v1_alerts_log__alert_id__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts/rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make Rule
         * @description Add a rule: which condition of whose runs is reported to which channel.
         */
        post: operations["make_rule_api_v1_alerts_rules_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts/rules/{rule_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete Rule
         * @description Remove a rule; messages that it has queued are still sent.
         */
        delete: operations["delete_rule_api_v1_alerts_rules__rule_id__delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Audit
         * @description Changes that people made, newest first: who, when, and what it was before and after.
         *
         *     Who was given access is for administrators alone.
         */
        get: operations["audit_api_v1_audit_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/compare": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Compare
         * @description How fast each run is compared with the first, why, which settings differ, and what makes them hard to compare.
         */
        get: operations["compare_api_v1_compare_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Config
         * @description Keys of `config` that runs were given, the most used first: `config` of `/runs` asks for their values.
         */
        get: operations["config_api_v1_config_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events
         * @description Server-sent events: a run has new windows, a new status or a new diagnosis; at most one per second and run.
         */
        get: operations["events_api_v1_events_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/hosts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Hosts
         * @description Hosts on which a run was seen in seven days: cores, memory, disks, networks and GPUs as they are used now.
         */
        get: operations["hosts_api_v1_hosts_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/ingest": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ingest
         * @description A window of one rank, as docs/wire.md describes it; acknowledged when it is on disk. Idempotent.
         */
        post: operations["ingest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Jobs
         * @description The runs that match the filter, grouped by job: how many tries, what they lost together, and the newest.
         */
        get: operations["jobs_api_v1_jobs_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Projects
         * @description Every project with a run, by name; a token's own, where it is bound to one.
         */
        get: operations["projects_api_v1_projects_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project}/retention": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Retention
         * @description The project's own retention, the service's default, and the storage that its runs use.
         */
        get: operations["retention_api_v1_projects__project__retention_get"];
        /**
         * Set Retention
         * @description Replaces all that the project set before, and is in effect within a minute.
         */
        put: operations["set_retention_api_v1_projects__project__retention_put"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project}/retention/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Preview
         * @description Which whole runs would be archived and deleted now, by these ages, and where none is given by those in force.
         *     Nothing is changed.
         */
        get: operations["preview_api_v1_projects__project__retention_preview_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Runs
         * @description Runs that match the filter, with counts by status and the week's hours.
         */
        get: operations["runs_api_v1_runs_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Run
         * @description One run with everything that does not change from step to step, and what lies ahead of it while it runs.
         */
        get: operations["run_api_v1_runs__run_id__get"];
        put?: never;
        post?: never;
        /**
         * Remove
         * @description Delete a run that is not running. For `keep_deleted_us` of `/service` it can be restored; then all that was
         *     recorded of it is removed for good. What it lost stays in the hours of the week and the team.
         */
        delete: operations["remove_api_v1_runs__run_id__delete"];
        options?: never;
        head?: never;
        /**
         * Edit
         * @description Change the name, the tags or the notes of a run; archive or unarchive it.
         */
        patch: operations["edit_api_v1_runs__run_id__patch"];
        trace?: never;
    };
    "/api/v1/runs/{run_id}/diagnosis": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Diagnosis
         * @description The last verdict, with the status that the run had when it was given; of another loader, one on that alone.
         *
         *     Of a run that has ended and was not judged since, the last verdict is then given before others.
         */
        get: operations["diagnosis_api_v1_runs__run_id__diagnosis_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export
         * @description Every step with the batch it was given, those that retention deleted left out; or the stacks that were seen.
         */
        get: operations["export_api_v1_runs__run_id__export_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * History
         * @description The runs of the same job over time: how much each waited and how fast it was, and what was changed in between.
         */
        get: operations["history_api_v1_runs__run_id__history_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/hotspots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Hotspots
         * @description Functions and lines with their shares of loading, the stacks that they were found in, and the slowest samples.
         */
        get: operations["hotspots_api_v1_runs__run_id__hotspots_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restore
         * @description Restore a run from the list of deleted ones, with all its data.
         */
        post: operations["restore_api_v1_runs__run_id__restore_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/series": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Series
         * @description Mean, least and greatest of each metric in buckets of consecutive steps, batches or samples.
         *
         *     With ``pause_us`` also what the program did beside training with the loader, and when its last step ended.
         */
        get: operations["series_api_v1_runs__run_id__series_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Timeline
         * @description About the last six seconds: 8 to 240 steps.
         */
        get: operations["timeline_api_v1_runs__run_id__timeline_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Workers
         * @description Each worker's newest batches and samples, and a heat map of load times: of the whole run, or of some steps.
         */
        get: operations["workers_api_v1_runs__run_id__workers_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/service": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Service
         * @description Open to everybody: the page calls it before it knows whether a token is needed.
         */
        get: operations["service_api_v1_service_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign In
         * @description Exchange an access token for a cookie that scripts cannot read and other sites cannot use.
         *
         *     A service that asks for no token to read takes that of its owner, and the secret of the link that it printed.
         */
        post: operations["sign_in_api_v1_session_post"];
        /**
         * Sign Out
         * @description End the session of this browser.
         */
        delete: operations["sign_out_api_v1_session_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/team": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Team
         * @description Causes that runs share, who lost how much in seven days, and how often predictions came true.
         */
        get: operations["team_api_v1_team_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Tokens
         * @description All tokens, the newest first; a project's administrator sees that project's.
         */
        get: operations["tokens_api_v1_tokens_get"];
        put?: never;
        /**
         * Make
         * @description Create a token. This answer holds its secret, which is not stored.
         */
        post: operations["make_api_v1_tokens_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{token_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke
         * @description End a token and the sessions it opened: every process refuses them within a second.
         */
        delete: operations["revoke_api_v1_tokens__token_id__delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Users
         * @description Everybody with a run, by name; in a token's own project, where it is bound to one.
         */
        get: operations["users_api_v1_users_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/views": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Views
         * @description By name; who sees some projects alone sees those of these projects.
         */
        get: operations["views_api_v1_views_get"];
        put?: never;
        /**
         * Make
         * @description Save a list of runs under a name, for all who see the same runs.
         */
        post: operations["make_api_v1_views_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/views/{view_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete
         * @description Delete a view; runs stay as they are.
         */
        delete: operations["delete_api_v1_views__view_id__delete"];
        options?: never;
        head?: never;
        /**
         * Change
         * @description Rename a view, or have it name another list.
         */
        patch: operations["change_api_v1_views__view_id__patch"];
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Healthz
         * @description The process answers.
         */
        get: operations["healthz_healthz_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Metrics
         * @description The service's own figures, those of the running runs that lost most, and counters of all runs, for Prometheus.
         */
        get: operations["metrics_metrics_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Readyz
         * @description The database can be read and written too.
         */
        get: operations["readyz_readyz_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** Advice */
        Advice: {
            anatomy: components["schemas"]["Anatomy"] | null;
            /** Assumption */
            assumption: string | null;
            /** Ceiling */
            ceiling: number | null;
            /** Ceiling High */
            ceiling_high?: number | null;
            /** Ceiling Low */
            ceiling_low?: number | null;
            /** Ceiling Of */
            ceiling_of?: string | null;
            /**
             * Change
             * @enum {string}
             */
            change: "cheaper_transform" | "cpu_allocation" | "faster_sampler" | "fewer_tensors" | "fix_rank" | "gpu_decode" | "in_order" | "more_shards" | "multiprocessing_context" | "non_blocking" | "num_workers" | "persistent_workers" | "pin_memory" | "prefetch_factor" | "prefetcher" | "shard_iterable" | "sharing_strategy" | "shm_size" | "smaller_dtype" | "snapshot_interval" | "threads_per_worker" | "tmpfs" | "vectorize_collate" | "vectorize_getitem";
            /**
             * Change Label
             * @default
             */
            change_label: string;
            /** Changes Batch Order */
            changes_batch_order: boolean;
            /** Command */
            command: string | null;
            /** Diff */
            diff: string;
            /** Diff File */
            diff_file: string | null;
            /** Evidence */
            evidence: components["schemas"]["Evidence"][];
            /** From */
            from: boolean | number | string | null;
            /** High */
            high: number | null;
            /**
             * Is Promised
             * @default false
             */
            is_promised: boolean;
            /** Loader */
            loader?: string | null;
            /** Low */
            low: number | null;
            /** Predicted Speedup */
            predicted_speedup: number | null;
            /** Risk */
            risk: string;
            /** Run Ceiling */
            run_ceiling?: number | null;
            /** Run High */
            run_high?: number | null;
            /** Run Low */
            run_low?: number | null;
            /** Run Speedup */
            run_speedup?: number | null;
            /** Settings */
            settings: {
                [key: string]: boolean | number | string | null;
            };
            /** Sketch */
            sketch?: string | null;
            /** Title */
            title: string;
            /** To */
            to: boolean | number | string | null;
            /** Why */
            why: string;
        };
        /** AgedRun */
        AgedRun: {
            /**
             * Fate
             * @enum {string}
             */
            fate: "archived" | "deleted";
            /** Name */
            name: string;
            /** Run Id */
            run_id: string;
            /**
             * Unchanged Since
             * Format: date-time
             */
            unchanged_since: string;
        };
        /**
         * AgedRuns
         * @description What retention would do with whole runs of a project, if it had these ages.
         */
        AgedRuns: {
            /** Archive After Us */
            archive_after_us: number | null;
            /** Archived */
            archived: number;
            /** Delete After Us */
            delete_after_us: number | null;
            /** Deleted */
            deleted: number;
            /** Runs */
            runs: components["schemas"]["AgedRun"][];
        };
        /**
         * Alert
         * @description One message to one channel, and what became of it.
         */
        Alert: {
            /** Alert Id */
            alert_id: string;
            /** Attempts */
            attempts: number;
            /** Channel */
            channel: string | null;
            /** Channel Id */
            channel_id: string;
            /** Due At */
            due_at: string | null;
            /** Error */
            error: string | null;
            /**
             * Made At
             * Format: date-time
             */
            made_at: string;
            message: components["schemas"]["AlertMessage"];
            /** Rule Id */
            rule_id: string | null;
            /** Run Id */
            run_id: string | null;
            /** Sent At */
            sent_at: string | null;
            /**
             * State
             * @enum {string}
             */
            state: "waiting" | "sent" | "failed";
        };
        /**
         * AlertFix
         * @description The first advice for a run.
         */
        AlertFix: {
            /** Evidence */
            evidence: string[];
            /** Gain */
            gain: string;
            /** High */
            high: number | null;
            /** Low */
            low: number | null;
            /** Predicted Speedup */
            predicted_speedup: number | null;
            /** Title */
            title: string;
        };
        /**
         * AlertMessage
         * @description What is sent: the same to every channel. Figures are those of the run when it became due.
         */
        AlertMessage: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Bound */
            bound?: ("data" | "transfer" | "compute" | "host" | "unknown") | null;
            /** Cause */
            cause?: ("cpu_limited" | "dispatched_batches" | "few_shards" | "ipc_copy" | "memory_pressure" | "no_workers" | "pageable_copy" | "pin_thread" | "slow_collate" | "slow_rank" | "slow_sampler" | "slow_samples" | "state_snapshot" | "storage_limit" | "storage_wait" | "thread_oversubscription" | "too_few_workers" | "unsharded_iterable" | "worker_startup") | null;
            /** Cause Label */
            cause_label?: string | null;
            /** Condition */
            condition: ("data_bound" | "hours_lost" | "verdict_changed" | "memory" | "straggler" | "host_offline") | null;
            /** Condition Label */
            condition_label?: string | null;
            /** Data Stall Fraction */
            data_stall_fraction?: number | null;
            fix?: components["schemas"]["AlertFix"] | null;
            /** Hours Lost */
            hours_lost?: number | null;
            /**
             * Kind
             * @enum {string}
             */
            kind: "raised" | "recovered" | "test";
            /** Project */
            project?: string | null;
            /** Run Id */
            run_id?: string | null;
            /** Run Name */
            run_name?: string | null;
            /** Sentence */
            sentence: string;
            /** Status */
            status?: ("running" | "finished" | "crashed" | "lost") | null;
            /** Title */
            title: string;
            /** Url */
            url: string;
            /** User */
            user?: string | null;
            /** Why */
            why?: string | null;
        };
        /**
         * AlertRule
         * @description When an alert is due, and to which channel it goes.
         */
        AlertRule: {
            /** Channel Id */
            channel_id: string;
            /**
             * Condition
             * @enum {string}
             */
            condition: "data_bound" | "hours_lost" | "verdict_changed" | "memory" | "straggler" | "host_offline";
            /**
             * Condition Label
             * @default
             */
            condition_label: string;
            /** Cool Down Us */
            cool_down_us: number;
            /** For Us */
            for_us: number;
            /**
             * Made At
             * Format: date-time
             */
            made_at: string;
            /** Made By */
            made_by: string;
            /** Project */
            project: string | null;
            /** Rule Id */
            rule_id: string;
            /** Tells Recovery */
            tells_recovery: boolean;
            /** Threshold */
            threshold: number | null;
            /** User */
            user: string | null;
        };
        /**
         * Alerts
         * @description Who receives which messages.
         */
        Alerts: {
            /** Channels */
            channels: components["schemas"]["Channel"][];
            /** Rules */
            rules: components["schemas"]["AlertRule"][];
            /** Sends Email */
            sends_email: boolean;
        };
        /** AlertsPage */
        AlertsPage: {
            /** Alerts */
            alerts: components["schemas"]["Alert"][];
            /** Next Cursor */
            next_cursor: string | null;
        };
        /**
         * Anatomy
         * @description Mean judged step, in parts that add up to ``step_us``; below them, what a part is known to consist of.
         */
        Anatomy: {
            /** Compute Us */
            compute_us: number;
            /** Data Wait Us */
            data_wait_us: number;
            /** Gpu Idle Us */
            gpu_idle_us?: number | null;
            /** H2D Exposed Us */
            h2d_exposed_us: number | null;
            /** Others Wait Us */
            others_wait_us?: number | null;
            /** Sampler Us */
            sampler_us?: number | null;
            /** Step Us */
            step_us: number;
        };
        /**
         * AuditEntry
         * @description One change that a person made.
         */
        AuditEntry: {
            /**
             * Action
             * @enum {string}
             */
            action: "renamed" | "tagged" | "noted" | "archived" | "unarchived" | "deleted" | "restored" | "view_created" | "view_changed" | "view_deleted" | "channel_created" | "channel_deleted" | "alert_rule_created" | "alert_rule_deleted" | "token_created" | "token_revoked" | "groups_changed" | "retention_changed" | "archived_by_age" | "deleted_by_age";
            /** After */
            after: string | {
                [key: string]: string;
            } | null;
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Before */
            before: string | {
                [key: string]: string;
            } | null;
            /** By */
            by: string;
            /** Entry Id */
            entry_id: string;
            /** Name */
            name: string;
            /** Project */
            project: string | null;
            /** Run Id */
            run_id: string | null;
            /** Token Id */
            token_id: string | null;
        };
        /** AuditPage */
        AuditPage: {
            /** Entries */
            entries: components["schemas"]["AuditEntry"][];
            /** Next Cursor */
            next_cursor: string | null;
        };
        /**
         * BesideAction
         * @description What to do about a run beside its loader's settings.
         */
        BesideAction: {
            /** Detail */
            detail: string;
            /** Hours Saved */
            hours_saved: number | null;
            /** Speedup */
            speedup: number | null;
            /** Title */
            title: string;
        };
        /**
         * BestAdvice
         * @description A change and its gain, without its texts and evidence.
         */
        BestAdvice: {
            /**
             * Change
             * @enum {string}
             */
            change: "cheaper_transform" | "cpu_allocation" | "faster_sampler" | "fewer_tensors" | "fix_rank" | "gpu_decode" | "in_order" | "more_shards" | "multiprocessing_context" | "non_blocking" | "num_workers" | "persistent_workers" | "pin_memory" | "prefetch_factor" | "prefetcher" | "shard_iterable" | "sharing_strategy" | "shm_size" | "smaller_dtype" | "snapshot_interval" | "threads_per_worker" | "tmpfs" | "vectorize_collate" | "vectorize_getitem";
            /**
             * Change Label
             * @default
             */
            change_label: string;
            /** From */
            from: boolean | number | string | null;
            /** High */
            high: number | null;
            /**
             * Is Promised
             * @default false
             */
            is_promised: boolean;
            /** Loader */
            loader?: string | null;
            /** Low */
            low: number | null;
            /** Predicted Speedup */
            predicted_speedup: number | null;
            /** Run High */
            run_high?: number | null;
            /** Run Low */
            run_low?: number | null;
            /** Run Speedup */
            run_speedup?: number | null;
            /** To */
            to: boolean | number | string | null;
        };
        /**
         * Caller
         * @description A place that a line is called from, where several call it: the innermost at which the ways to it part.
         */
        Caller: {
            /** File */
            file: string;
            /** Fraction */
            fraction: number;
            /** Function */
            function: string;
            /** Line */
            line: number | null;
            /** Margin Fraction */
            margin_fraction?: number | null;
            /** Sentence */
            sentence: string;
        };
        /**
         * Candidate
         * @description A setting worth a trial.
         */
        Candidate: {
            /** High */
            high: number | null;
            /** Low */
            low: number | null;
            /** Predicted Speedup */
            predicted_speedup: number | null;
            /** Settings */
            settings: {
                [key: string]: boolean | number | string | null;
            };
            /** Why */
            why: string;
        };
        /**
         * Candidates
         * @description What ``--tune`` is to try with a loader.
         */
        Candidates: {
            /** Candidates */
            candidates: components["schemas"]["Candidate"][];
            /** Loader */
            loader: string;
            /** Settings */
            settings: {
                [key: string]: boolean | number | string | null;
            };
            /** Why None */
            why_none: string | null;
        };
        /** CauseFinding */
        CauseFinding: {
            /**
             * Cause
             * @enum {string}
             */
            cause: "cpu_limited" | "dispatched_batches" | "few_shards" | "ipc_copy" | "memory_pressure" | "no_workers" | "pageable_copy" | "pin_thread" | "slow_collate" | "slow_rank" | "slow_sampler" | "slow_samples" | "state_snapshot" | "storage_limit" | "storage_wait" | "thread_oversubscription" | "too_few_workers" | "unsharded_iterable" | "worker_startup";
            /**
             * Cause Label
             * @default
             */
            cause_label: string;
            /** Cost Fraction */
            cost_fraction: number;
            /** Evidence */
            evidence: components["schemas"]["Evidence"][];
            /** Sentence */
            sentence: string;
        };
        /** CauseHours */
        CauseHours: {
            /** Cause */
            cause: ("cpu_limited" | "dispatched_batches" | "few_shards" | "ipc_copy" | "memory_pressure" | "no_workers" | "pageable_copy" | "pin_thread" | "slow_collate" | "slow_rank" | "slow_sampler" | "slow_samples" | "state_snapshot" | "storage_limit" | "storage_wait" | "thread_oversubscription" | "too_few_workers" | "unsharded_iterable" | "worker_startup") | null;
            /** Cause Label */
            cause_label?: string | null;
            /** Hours Lost */
            hours_lost: number;
        };
        /**
         * Caution
         * @description Something besides the loader differs, so that the ratio may not be of the loader.
         */
        Caution: {
            /**
             * Of
             * @enum {string}
             */
            of: "batch_size" | "model" | "gpu" | "world_size" | "compute";
            /** Sentence */
            sentence: string;
        };
        /**
         * ChangedSetting
         * @description What was set otherwise than in the run before.
         */
        ChangedSetting: {
            /** After */
            after: boolean | number | string | null;
            /** Before */
            before: boolean | number | string | null;
            /**
             * Group
             * @enum {string}
             */
            group: "loader" | "data" | "machine" | "software" | "config" | "tags" | "command";
            /** Matters */
            matters: boolean;
            /** Name */
            name: string;
            /**
             * Unit
             * @enum {string}
             */
            unit: "us" | "fraction" | "bytes" | "bytes_per_s" | "per_s" | "count" | "cores" | "factor" | "setting" | "w";
        };
        /**
         * Channel
         * @description Where alerts go; its address and secret are not shown.
         */
        Channel: {
            /** Channel Id */
            channel_id: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "webhook" | "slack" | "email";
            /**
             * Made At
             * Format: date-time
             */
            made_at: string;
            /** Made By */
            made_by: string;
            /** Name */
            name: string;
            /** Project */
            project: string | null;
            /** Target */
            target: string;
        };
        /**
         * ChannelMade
         * @description The one answer that has the secret: it cannot be read again.
         */
        ChannelMade: {
            /** Channel Id */
            channel_id: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "webhook" | "slack" | "email";
            /**
             * Made At
             * Format: date-time
             */
            made_at: string;
            /** Made By */
            made_by: string;
            /** Name */
            name: string;
            /** Project */
            project: string | null;
            /** Secret */
            secret: string | null;
            /** Target */
            target: string;
        };
        /**
         * ComparedHotspot
         * @description A function in which loading spends time in any of the runs. Lists have one value a run, in their order; ``None``:
         *     that run was not sampled, or how long it loads was not measured.
         */
        ComparedHotspot: {
            /** Differs */
            differs: boolean;
            /** File */
            file: string;
            /** Function */
            function: string;
            /** Lines */
            lines: (number | null)[];
            /** Self Fractions */
            self_fractions: (number | null)[];
            /** Self Us */
            self_us: (number | null)[];
            /**
             * Stage
             * @enum {string}
             */
            stage: "getitem" | "collate" | "other" | "step";
            /** Total Fractions */
            total_fractions: (number | null)[];
            /** Total Us */
            total_us: (number | null)[];
        };
        /**
         * ComparedRun
         * @description Figures are of the compared steps; ``None`` where ``why_not`` says why there are none.
         */
        ComparedRun: {
            anatomy: components["schemas"]["Anatomy"] | null;
            /** Batch Samples */
            batch_samples: number | null;
            /** Epochs */
            epochs: components["schemas"]["EpochStart"][];
            /** Hotspots Missing */
            hotspots_missing: string | null;
            /** Label */
            label: string;
            run: components["schemas"]["RunSummary"];
            /** Samples Per S */
            samples_per_s: number | null;
            /** Sentence */
            sentence: string | null;
            speed: components["schemas"]["Speed"] | null;
            /** Steps Per S */
            steps_per_s: number | null;
            /** Verdict */
            verdict: string;
            /** Why Not */
            why_not: string | null;
        };
        /**
         * ComparedSetting
         * @description One value a run, in their order; ``None``: not set, or not known.
         */
        ComparedSetting: {
            /** Differs */
            differs: boolean;
            /**
             * Group
             * @enum {string}
             */
            group: "loader" | "data" | "machine" | "software" | "config" | "tags" | "command";
            /** Matters */
            matters: boolean;
            /** Name */
            name: string;
            /**
             * Unit
             * @enum {string}
             */
            unit: "us" | "fraction" | "bytes" | "bytes_per_s" | "per_s" | "count" | "cores" | "factor" | "setting" | "w";
            /** Values */
            values: (boolean | number | string | null)[];
        };
        /**
         * Comparison
         * @description Several runs against the first of them.
         */
        Comparison: {
            /**
             * Basis
             * @enum {string}
             */
            basis: "epochs" | "steps";
            /** Cautions */
            cautions: components["schemas"]["Caution"][];
            /** Hotspots */
            hotspots: components["schemas"]["ComparedHotspot"][];
            /** Ledger */
            ledger: components["schemas"]["LedgerEntry"][];
            /**
             * Per
             * @enum {string}
             */
            per: "steps" | "samples";
            /** Runs */
            runs: components["schemas"]["ComparedRun"][];
            /** Sentence */
            sentence: string;
            /** Settings */
            settings: components["schemas"]["ComparedSetting"][];
        };
        /**
         * ConfigKey
         * @description A key of `config` that runs were given.
         */
        ConfigKey: {
            /** Key */
            key: string;
            /** Runs */
            runs: number;
        };
        /** CountedStack */
        CountedStack: {
            /** Frames */
            frames: number[];
            /** Samples */
            samples: number;
            /**
             * Stage
             * @enum {string}
             */
            stage: "getitem" | "collate" | "other" | "step";
        };
        /** DayHours */
        DayHours: {
            /** Day */
            day: string;
            /** Hours Lost */
            hours_lost: number;
            /** Hours Used */
            hours_used: number;
        };
        /** Device */
        Device: {
            /** Gpu Index */
            gpu_index: number;
            /** Memory Total Bytes */
            memory_total_bytes: number | null;
            /** Name */
            name: string;
            /** Uuid */
            uuid: string | null;
        };
        /** Diagnosis */
        Diagnosis: {
            /** Advice */
            advice: components["schemas"]["Advice"][];
            /** Agent Fraction */
            agent_fraction?: number | null;
            anatomy: components["schemas"]["Anatomy"] | null;
            /**
             * Beside
             * @default []
             */
            beside: components["schemas"]["BesideAction"][];
            /** Beside Loader */
            beside_loader?: string | null;
            /** Beside Speedup */
            beside_speedup?: number | null;
            /**
             * Beside Training
             * @default []
             */
            beside_training: string[];
            /**
             * Bound
             * @enum {string}
             */
            bound: "data" | "transfer" | "compute" | "host" | "unknown";
            /**
             * Bound Label
             * @default
             */
            bound_label: string;
            candidates?: components["schemas"]["Candidates"] | null;
            /** Causes */
            causes: components["schemas"]["CauseFinding"][];
            /**
             * Clock
             * @enum {string}
             */
            clock: "gpu" | "host";
            /** Confidence */
            confidence: ("high" | "medium" | "low") | null;
            /** Copy Hours Lost */
            copy_hours_lost?: number | null;
            /** Data Stall Fraction */
            data_stall_fraction: number | null;
            /** Gpu Hours Lost */
            gpu_hours_lost: number | null;
            /** Headline Stall Fraction */
            headline_stall_fraction?: number | null;
            /** Hot Change */
            hot_change?: string | null;
            /**
             * Hot Lines
             * @default []
             */
            hot_lines: components["schemas"]["HotLine"][];
            /** Hot Order */
            hot_order?: string | null;
            /**
             * Hotspots
             * @default []
             */
            hotspots: components["schemas"]["Hotspot"][];
            /** Hours Lost */
            hours_lost: number | null;
            /** Hours Restarting */
            hours_restarting?: number | null;
            hours_saved?: components["schemas"]["HoursSaved"] | null;
            /** Hours Used */
            hours_used: number | null;
            /** Instant Data High Steps Per S */
            instant_data_high_steps_per_s?: number | null;
            /** Instant Data Steps Per S */
            instant_data_steps_per_s: number | null;
            /**
             * Is Beside First
             * @default false
             */
            is_beside_first: boolean;
            /**
             * Is Final
             * @default false
             */
            is_final: boolean;
            /**
             * Is Lost At Start
             * @default false
             */
            is_lost_at_start: boolean;
            /** Is Mostly Paused */
            is_mostly_paused?: boolean | null;
            /** Judged At */
            judged_at: string | null;
            /** Judged From Step */
            judged_from_step?: number | null;
            /** Judged Stall Fraction */
            judged_stall_fraction?: number | null;
            /** Judged Steps */
            judged_steps: number;
            /** Ledger */
            ledger: components["schemas"]["LedgerEntry"][];
            /**
             * Level
             * @enum {string}
             */
            level: "healthy" | "watch" | "limited" | "bound" | "unknown";
            /**
             * Level Label
             * @default
             */
            level_label: string;
            /** Loader */
            loader: string | null;
            /**
             * Loaders
             * @default []
             */
            loaders: components["schemas"]["LoaderLine"][];
            /**
             * Looks
             * @default 0
             */
            looks: number;
            /**
             * Needed Looks
             * @default 0
             */
            needed_looks: number;
            /** Needed Steps */
            needed_steps: number;
            /** Paused Fraction */
            paused_fraction?: number | null;
            /** Ranks */
            ranks: components["schemas"]["RankDiagnosis"][];
            read_rate?: components["schemas"]["ReadRate"] | null;
            /** Reason */
            reason: string | null;
            /** Refusals */
            refusals: components["schemas"]["Refusal"][];
            replay?: components["schemas"]["MeasuredReplay"] | null;
            /** Run Id */
            run_id: string;
            /** Samples Per S */
            samples_per_s: number | null;
            /** Sentence */
            sentence: string;
            /**
             * Shared
             * @default []
             */
            shared: components["schemas"]["SharedCause"][];
            /** Signals */
            signals: components["schemas"]["Signal"][];
            /**
             * Slow Samples
             * @default []
             */
            slow_samples: components["schemas"]["SlowSample"][];
            /**
             * Status
             * @enum {string}
             */
            status: "running" | "finished" | "crashed" | "lost";
            /**
             * Status Label
             * @default
             */
            status_label: string;
            /** Step Change */
            step_change?: string | null;
            /**
             * Step Hotspots
             * @default []
             */
            step_hotspots: components["schemas"]["Hotspot"][];
            /**
             * Step Lines
             * @default []
             */
            step_lines: components["schemas"]["HotLine"][];
            /**
             * Step Looks
             * @default 0
             */
            step_looks: number;
            /** Step Order */
            step_order?: string | null;
            /** Steps */
            steps: number;
            /** Steps Per S */
            steps_per_s: number | null;
            to_write?: components["schemas"]["ToWrite"] | null;
            /**
             * Trials
             * @default []
             */
            trials: components["schemas"]["Trial"][];
            tuning?: components["schemas"]["Tuning"] | null;
            /** Waited Fraction */
            waited_fraction?: number | null;
            /** Warmup Steps */
            warmup_steps: number;
            /** Why */
            why: string | null;
        };
        /** DiedWorker */
        DiedWorker: {
            /** End Us */
            end_us: number | null;
            /** Ended */
            ended: ("returned" | "raised" | "died") | null;
            /** Epoch Index */
            epoch_index: number | null;
            /** Iterator Index */
            iterator_index: number;
            /** Loader */
            loader: string;
            /** Pid */
            pid: number | null;
            /** Rank */
            rank: number;
            /** Start Us */
            start_us: number | null;
            /** Worker */
            worker: number;
        };
        /** EpochInfo */
        EpochInfo: {
            /** End Us */
            end_us: number | null;
            /** Ended */
            ended: ("exhausted" | "broken_off" | "error") | null;
            /** Ending Us */
            ending_us?: number | null;
            /** Epoch Index */
            epoch_index: number;
            /** First Step Index */
            first_step_index: number;
            /** Grad Enabled */
            grad_enabled?: boolean | null;
            /** Graph Built */
            graph_built?: boolean | null;
            /** In Background */
            in_background?: boolean | null;
            /** Iterator Us */
            iterator_us: number | null;
            /** Loader */
            loader: string;
            /** Program Epoch */
            program_epoch?: number | null;
            /** Rank */
            rank: number;
            /** Sampler Us */
            sampler_us: number | null;
            /** Start Us */
            start_us: number;
            /** Startup Us */
            startup_us: number | null;
            /** Steps */
            steps: number | null;
        };
        /** EpochStart */
        EpochStart: {
            /** Epoch Index */
            epoch_index: number;
            /** First Step Index */
            first_step_index: number;
        };
        /**
         * ErrorBody
         * @description The one shape of every failure.
         */
        ErrorBody: {
            error: components["schemas"]["ErrorDetail"];
        };
        /** ErrorDetail */
        ErrorDetail: {
            /** Code */
            code: string;
            /** Field */
            field?: string | null;
            /** Message */
            message: string;
            /** Request Id */
            request_id?: string | null;
        };
        /**
         * Evidence
         * @description One measured number. ``series`` names the metric of ``/series`` that shows it over time.
         */
        Evidence: {
            /** Margin Fraction */
            margin_fraction?: number | null;
            /** Series */
            series?: string | null;
            /**
             * Unit
             * @enum {string}
             */
            unit: "us" | "fraction" | "bytes" | "bytes_per_s" | "per_s" | "count" | "cores" | "factor" | "setting" | "w";
            /** Value */
            value: number | string | null;
            /** What */
            what: string;
        };
        /**
         * GroupHours
         * @description Rank-hours of the runs that have something in common.
         */
        GroupHours: {
            /** Hours Lost */
            hours_lost: number;
            /** Hours Recoverable */
            hours_recoverable: number | null;
            /** Hours Recoverable High */
            hours_recoverable_high: number | null;
            /** Hours Recoverable Low */
            hours_recoverable_low: number | null;
            /** Hours Used */
            hours_used: number;
            /** Name */
            name: string;
            /** Runs */
            runs: number;
            /** Search */
            search: string | null;
        };
        /**
         * HandoverCosts
         * @description Microseconds of handing a batch to another process of the host, as measured there before training.
         */
        HandoverCosts: {
            /** Free Mb Us */
            free_mb_us: number;
            /** Receive Us */
            receive_us: number;
            /** Receive Wait Us */
            receive_wait_us: number;
            /** Tensor Us */
            tensor_us: number;
            /** Tensor Wait Us */
            tensor_wait_us: number;
            /** Write Mb Us */
            write_mb_us: number;
            /** Write Tensor Us */
            write_tensor_us: number;
        };
        /** Health */
        Health: {
            /** Judging Lag S */
            judging_lag_s: number;
            /**
             * Status
             * @default ok
             * @constant
             */
            status: "ok";
        };
        /**
         * HistoryRun
         * @description One try of a job.
         */
        HistoryRun: {
            /** Archived At */
            archived_at: string | null;
            /**
             * Bound
             * @enum {string}
             */
            bound: "data" | "transfer" | "compute" | "host" | "unknown";
            /**
             * Bound Label
             * @default
             */
            bound_label: string;
            /** Cause */
            cause: ("cpu_limited" | "dispatched_batches" | "few_shards" | "ipc_copy" | "memory_pressure" | "no_workers" | "pageable_copy" | "pin_thread" | "slow_collate" | "slow_rank" | "slow_sampler" | "slow_samples" | "state_snapshot" | "storage_limit" | "storage_wait" | "thread_oversubscription" | "too_few_workers" | "unsharded_iterable" | "worker_startup") | null;
            /** Cause Label */
            cause_label?: string | null;
            /** Changed */
            changed: components["schemas"]["ChangedSetting"][];
            /** Data Stall Fraction */
            data_stall_fraction: number | null;
            /** Ended At */
            ended_at: string | null;
            /** Gpu Hours Lost */
            gpu_hours_lost: number | null;
            /** Hours Lost */
            hours_lost: number | null;
            /** Is Mostly Paused */
            is_mostly_paused?: boolean | null;
            /**
             * Level
             * @enum {string}
             */
            level: "healthy" | "watch" | "limited" | "bound" | "unknown";
            /**
             * Level Label
             * @default
             */
            level_label: string;
            /** Name */
            name: string;
            /** Run Id */
            run_id: string;
            /** Samples Per S */
            samples_per_s: number | null;
            /**
             * Started At
             * Format: date-time
             */
            started_at: string;
            /**
             * Status
             * @enum {string}
             */
            status: "running" | "finished" | "crashed" | "lost";
            /**
             * Status Label
             * @default
             */
            status_label: string;
            /** Steps */
            steps: number;
            /** Steps Per S */
            steps_per_s: number | null;
            /** User */
            user: string;
        };
        /**
         * HitRate
         * @description What later runs gained that carried the advice.
         */
        HitRate: {
            /** Cause */
            cause?: ("cpu_limited" | "dispatched_batches" | "few_shards" | "ipc_copy" | "memory_pressure" | "no_workers" | "pageable_copy" | "pin_thread" | "slow_collate" | "slow_rank" | "slow_sampler" | "slow_samples" | "state_snapshot" | "storage_limit" | "storage_wait" | "thread_oversubscription" | "too_few_workers" | "unsharded_iterable" | "worker_startup") | null;
            /** Cause Label */
            cause_label?: string | null;
            /** Change */
            change?: ("cheaper_transform" | "cpu_allocation" | "faster_sampler" | "fewer_tensors" | "fix_rank" | "gpu_decode" | "in_order" | "more_shards" | "multiprocessing_context" | "non_blocking" | "num_workers" | "persistent_workers" | "pin_memory" | "prefetch_factor" | "prefetcher" | "shard_iterable" | "sharing_strategy" | "shm_size" | "smaller_dtype" | "snapshot_interval" | "threads_per_worker" | "tmpfs" | "vectorize_collate" | "vectorize_getitem") | null;
            /** Change Label */
            change_label?: string | null;
            /** Inside */
            inside: number;
            /** Median Error */
            median_error: number | null;
            /** Predicted */
            predicted: number;
            /** Proven */
            proven: number;
        };
        /**
         * Host
         * @description One machine or container, as its runs report it.
         */
        Host: {
            /** Competing */
            competing: string[];
            cores: components["schemas"]["HostCores"];
            disk_read: components["schemas"]["HostFlow"];
            disk_written: components["schemas"]["HostFlow"];
            /** Earlier Runs */
            earlier_runs: number;
            facts: components["schemas"]["HostFacts"];
            /** Gpus */
            gpus: components["schemas"]["HostGpu"][];
            /** Hostname */
            hostname: string;
            /** Is Live */
            is_live: boolean;
            /**
             * Last Seen At
             * Format: date-time
             */
            last_seen_at: string;
            /** Memory Limit Bytes */
            memory_limit_bytes: number | null;
            /** Memory Used Bytes */
            memory_used_bytes: number | null;
            network_received: components["schemas"]["HostFlow"];
            network_sent: components["schemas"]["HostFlow"];
            /** Not Measured */
            not_measured: {
                [key: string]: string;
            };
            /** Runs */
            runs: components["schemas"]["HostRun"][];
            /** Shm Total Bytes */
            shm_total_bytes: number | null;
            /** Shm Used Bytes */
            shm_used_bytes: number | null;
        };
        /**
         * HostCores
         * @description Cores of a host that runs may use, and who keeps them busy now.
         */
        HostCores: {
            /** Busy */
            busy: number | null;
            /** Idle */
            idle: number | null;
            /** Missing */
            missing: string | null;
            /** Others */
            others: number | null;
            /** Own */
            own: number | null;
            /** Usable */
            usable: number | null;
        };
        /** HostFacts */
        HostFacts: {
            /** Allowed Cpus */
            allowed_cpus: number | null;
            /** Cpu Count */
            cpu_count: number | null;
            /** Cpu Model */
            cpu_model: string | null;
            /** Cpu Slowdown */
            cpu_slowdown: [
                number,
                number
            ][] | null;
            /** Gpu Driver */
            gpu_driver: string | null;
            handover?: components["schemas"]["HandoverCosts"] | null;
            /** Hostname */
            hostname: string;
            /** Memory Available Bytes */
            memory_available_bytes: number | null;
            /** Memory Bytes Per S */
            memory_bytes_per_s?: number | null;
            /** Memory Limit Bytes */
            memory_limit_bytes: number | null;
            /** Memory Slowdown */
            memory_slowdown?: [
                number,
                number
            ][] | null;
            /** Memory Total Bytes */
            memory_total_bytes: number | null;
            /** Numa Nodes */
            numa_nodes: number | null;
            /** Open Files Limit */
            open_files_limit: number | null;
            /** Quota Cores */
            quota_cores: number | null;
            /** Shm Free Bytes */
            shm_free_bytes: number | null;
            /** Shm Total Bytes */
            shm_total_bytes: number | null;
            /** Swap Total Bytes */
            swap_total_bytes: number | null;
            /** Usable Cores */
            usable_cores: number | null;
        };
        /**
         * HostFlow
         * @description Bytes a second, of all processes.
         */
        HostFlow: {
            /** Most */
            most: number | null;
            /** Now */
            now: number | null;
        };
        /** HostGpu */
        HostGpu: {
            /** Data Stall Fraction */
            data_stall_fraction: number | null;
            /** Gpu Index */
            gpu_index: number;
            /** Memory Total Bytes */
            memory_total_bytes: number | null;
            /** Memory Used Bytes */
            memory_used_bytes: number | null;
            /** Name */
            name: string;
            /** Run Id */
            run_id: string | null;
            /** Util Fraction */
            util_fraction: number | null;
        };
        /**
         * HostHistory
         * @description What a host did over a stretch of time, and the runs on it.
         */
        HostHistory: {
            /** Bucket Us */
            bucket_us: number;
            /**
             * From At
             * Format: date-time
             */
            from_at: string;
            /** Hostname */
            hostname: string;
            /** Memory Limit Bytes */
            memory_limit_bytes: number | null;
            /** Runs */
            runs: components["schemas"]["HostRun"][];
            /** Series */
            series: components["schemas"]["HostSeries"][];
            /** Shm Total Bytes */
            shm_total_bytes: number | null;
            /**
             * To At
             * Format: date-time
             */
            to_at: string;
            /** Usable Cores */
            usable_cores: number | null;
        };
        /**
         * HostRun
         * @description A run on a host, as far as it is there.
         */
        HostRun: {
            /**
             * Bound
             * @enum {string}
             */
            bound: "data" | "transfer" | "compute" | "host" | "unknown";
            /**
             * Bound Label
             * @default
             */
            bound_label: string;
            /** Cause */
            cause: ("cpu_limited" | "dispatched_batches" | "few_shards" | "ipc_copy" | "memory_pressure" | "no_workers" | "pageable_copy" | "pin_thread" | "slow_collate" | "slow_rank" | "slow_sampler" | "slow_samples" | "state_snapshot" | "storage_limit" | "storage_wait" | "thread_oversubscription" | "too_few_workers" | "unsharded_iterable" | "worker_startup") | null;
            /** Cause Label */
            cause_label?: string | null;
            /** Data Stall Fraction */
            data_stall_fraction: number | null;
            /**
             * Ended At
             * Format: date-time
             */
            ended_at: string;
            /** Is Mostly Paused */
            is_mostly_paused?: boolean | null;
            /**
             * Level
             * @enum {string}
             */
            level: "healthy" | "watch" | "limited" | "bound" | "unknown";
            /**
             * Level Label
             * @default
             */
            level_label: string;
            /** Name */
            name: string;
            /** Own Cores */
            own_cores: number | null;
            /** Ranks */
            ranks: number;
            /** Run Id */
            run_id: string;
            /**
             * Started At
             * Format: date-time
             */
            started_at: string;
            /**
             * Status
             * @enum {string}
             */
            status: "running" | "finished" | "crashed" | "lost";
            /**
             * Status Label
             * @default
             */
            status_label: string;
            /** User */
            user: string;
        };
        /**
         * HostSeries
         * @description One metric of a host, a value for each interval; null: not measured then.
         */
        HostSeries: {
            /** Metric */
            metric: string;
            /** Missing */
            missing: string | null;
            /**
             * Unit
             * @enum {string}
             */
            unit: "us" | "fraction" | "bytes" | "bytes_per_s" | "per_s" | "count" | "cores" | "factor" | "setting" | "w";
            /** Values */
            values: (number | null)[];
        };
        /** HostsPage */
        HostsPage: {
            history: components["schemas"]["HostHistory"] | null;
            /** Hosts */
            hosts: components["schemas"]["Host"][];
            /**
             * Since
             * Format: date-time
             */
            since: string;
        };
        /**
         * HotLine
         * @description A line of the program that loading, or the training thread between its batches, spends time in: each look counts
         *     for one line. Where none of the program's is in the stack, that of a library's innermost function.
         */
        HotLine: {
            /** Called */
            called: string | null;
            /**
             * Callers
             * @default []
             */
            callers: components["schemas"]["Caller"][];
            /** File */
            file: string;
            /** Fraction */
            fraction: number;
            /** Function */
            function: string;
            /** Line */
            line: number | null;
            /** Lines */
            lines?: [
                number,
                number
            ] | null;
            /** Margin Fraction */
            margin_fraction?: number | null;
            /** Sentence */
            sentence: string;
        };
        /**
         * Hotspot
         * @description A function and line that loading, or the training thread between its batches, spends time in.
         */
        Hotspot: {
            /**
             * Callers
             * @default []
             */
            callers: components["schemas"]["Caller"][];
            /** File */
            file: string;
            /** Function */
            function: string;
            /**
             * Is Own
             * @default false
             */
            is_own: boolean;
            /** Line */
            line: number | null;
            /** Lines */
            lines?: [
                number,
                number
            ] | null;
            /** Self Fraction */
            self_fraction: number;
            /** Self Margin Fraction */
            self_margin_fraction?: number | null;
            /**
             * Stage
             * @enum {string}
             */
            stage: "getitem" | "collate" | "other" | "step";
            /** Total Fraction */
            total_fraction: number;
            /** Total Margin Fraction */
            total_margin_fraction?: number | null;
        };
        /**
         * HotspotsPage
         * @description What threads were seen to execute: each sample stands for the same time.
         */
        HotspotsPage: {
            /** Agent Fraction */
            agent_fraction?: number | null;
            /** Change */
            change?: string | null;
            /** Frames */
            frames: components["schemas"]["StackFrame"][];
            /** Has Step */
            has_step: boolean;
            /** Hot Lines */
            hot_lines: components["schemas"]["HotLine"][];
            /** Hotspots */
            hotspots: components["schemas"]["Hotspot"][];
            /** Loader */
            loader: string | null;
            /** Missing */
            missing: string | null;
            /**
             * Of
             * @enum {string}
             */
            of: "loading" | "step";
            /** Order */
            order?: string | null;
            /**
             * Picture Sizes
             * @default []
             */
            picture_sizes: components["schemas"]["PictureSize"][];
            /** Rank */
            rank: number | null;
            /** Run Id */
            run_id: string;
            /** Samples */
            samples: number;
            /** Slow Samples */
            slow_samples: components["schemas"]["SlowSample"][];
            /** Stacks */
            stacks: components["schemas"]["CountedStack"][];
        };
        /**
         * HoursSaved
         * @description By the ends of its fix's interval; both the same where it has none. In the unit of what was lost.
         */
        HoursSaved: {
            /** High */
            high: number;
            /** Low */
            low: number;
        };
        /**
         * JobLine
         * @description Runs that are tries at the same thing. A run that names no job stands alone.
         */
        JobLine: {
            /** Gpu Hours Lost */
            gpu_hours_lost: number | null;
            /** Hours Lost */
            hours_lost: number | null;
            /** Job */
            job: string;
            newest: components["schemas"]["RunSummary"];
            /** Project */
            project: string;
            /** Runs */
            runs: number;
            /** Trend */
            trend: (number | null)[];
        };
        /** JobsPage */
        JobsPage: {
            /** Jobs */
            jobs: components["schemas"]["JobLine"][];
            /** Next Cursor */
            next_cursor: string | null;
        };
        /**
         * LedgerEntry
         * @description ``run_id`` carried a change that was advised for ``advice_of``.
         */
        LedgerEntry: {
            /** Advice Of */
            advice_of: string;
            /** Cause */
            cause?: ("cpu_limited" | "dispatched_batches" | "few_shards" | "ipc_copy" | "memory_pressure" | "no_workers" | "pageable_copy" | "pin_thread" | "slow_collate" | "slow_rank" | "slow_sampler" | "slow_samples" | "state_snapshot" | "storage_limit" | "storage_wait" | "thread_oversubscription" | "too_few_workers" | "unsharded_iterable" | "worker_startup") | null;
            /** Cause Label */
            cause_label?: string | null;
            /**
             * Change
             * @enum {string}
             */
            change: "cheaper_transform" | "cpu_allocation" | "faster_sampler" | "fewer_tensors" | "fix_rank" | "gpu_decode" | "in_order" | "more_shards" | "multiprocessing_context" | "non_blocking" | "num_workers" | "persistent_workers" | "pin_memory" | "prefetch_factor" | "prefetcher" | "shard_iterable" | "sharing_strategy" | "shm_size" | "smaller_dtype" | "snapshot_interval" | "threads_per_worker" | "tmpfs" | "vectorize_collate" | "vectorize_getitem";
            /**
             * Change Label
             * @default
             */
            change_label: string;
            /** High */
            high: number | null;
            /** Inside Interval */
            inside_interval: boolean | null;
            /**
             * Is Narrow
             * @default true
             */
            is_narrow: boolean;
            /** Loader */
            loader?: string | null;
            /** Low */
            low: number | null;
            /** Observed High */
            observed_high: number | null;
            /** Observed Low */
            observed_low: number | null;
            /** Observed Speedup */
            observed_speedup: number | null;
            /** Predicted Speedup */
            predicted_speedup: number | null;
            /** Run Id */
            run_id: string;
            /** Settings */
            settings: {
                [key: string]: boolean | number | string | null;
            };
            /** Why Not */
            why_not?: string | null;
        };
        /** LoaderInfo */
        LoaderInfo: {
            /** Batch Bytes */
            batch_bytes: number | null;
            /** Batch Dtypes */
            batch_dtypes?: {
                [key: string]: number;
            } | null;
            /** Batch Fits Uint8 */
            batch_fits_uint8?: boolean | null;
            /** Batch Tensors */
            batch_tensors: number | null;
            /** Batches Per Epoch */
            batches_per_epoch: number | null;
            /** Collate Type */
            collate_type: string | null;
            /** Compared Batches */
            compared_batches: number | null;
            /** Constructed At */
            constructed_at?: string | null;
            /** Constructed By */
            constructed_by?: string | null;
            /** Constructor Call */
            constructor_call?: string | null;
            /** Dataset Kind */
            dataset_kind: ("map" | "iterable") | null;
            /** Dataset Length */
            dataset_length: number | null;
            /** Dataset Shards */
            dataset_shards?: number | null;
            /** Dataset Type */
            dataset_type: string | null;
            /** Dispatched */
            dispatched?: boolean | null;
            /** Fetches Batches */
            fetches_batches?: boolean | null;
            /** Keeps State */
            keeps_state?: boolean | null;
            /** Loader */
            loader: string;
            /** Not Measured */
            not_measured: {
                [key: string]: string;
            };
            /** Overrides */
            overrides?: {
                [key: string]: boolean | number | string | null;
            } | null;
            /** Repeated Batches */
            repeated_batches: number | null;
            /** Sampler Type */
            sampler_type: string | null;
            /** Settings */
            settings: {
                [key: string]: boolean | number | string | null;
            };
            /** Shards */
            shards: boolean | null;
            /** Snapshot Interval Steps */
            snapshot_interval_steps?: number | null;
            /** Takes Whole Shards */
            takes_whole_shards?: boolean | null;
            /** Transforms */
            transforms: string[] | null;
            /** Watched At */
            watched_at: string | null;
            /** Why Unsharded */
            why_unsharded: string | null;
        };
        /**
         * LoaderLine
         * @description One of a run's loaders. Loaders that one loop asks in turn share its time: shares of them add up to more.
         */
        LoaderLine: {
            /**
             * Bound
             * @enum {string}
             */
            bound: "data" | "transfer" | "compute" | "host" | "unknown";
            /**
             * Bound Label
             * @default
             */
            bound_label: string;
            /** Data Stall Fraction */
            data_stall_fraction: number | null;
            /**
             * Epochs
             * @default 0
             */
            epochs: number;
            /** Hours Lost */
            hours_lost: number;
            /**
             * Level
             * @enum {string}
             */
            level: "healthy" | "watch" | "limited" | "bound" | "unknown";
            /**
             * Level Label
             * @default
             */
            level_label: string;
            /** Loader */
            loader: string;
            /**
             * Loop
             * @default 0
             */
            loop: number;
            /** Rank */
            rank?: number | null;
            /**
             * Role
             * @enum {string}
             */
            role: "train" | "validation" | "other";
            /** Share Of Run Fraction */
            share_of_run_fraction: number;
            /** Steps */
            steps: number;
        };
        /**
         * LoadHeatmap
         * @description How many batches took how long, over the run.
         */
        LoadHeatmap: {
            /** At Us */
            at_us: number[];
            /** Counts */
            counts: number[][];
            /** Edges Us */
            edges_us: number[];
            /** End Us */
            end_us: number;
        };
        /** Losses */
        Losses: {
            /** Agent Errors */
            agent_errors: number;
            /** Dropped Batches */
            dropped_batches: number;
            /** Dropped Steps */
            dropped_steps: number;
            /** Dropped Windows */
            dropped_windows: number;
            /** Rejected Windows */
            rejected_windows: number;
        };
        /** MeasuredReplay */
        MeasuredReplay: {
            /** Batches */
            batches: number;
            /** Instant Steps Per S */
            instant_steps_per_s: number;
            /** Real Steps Per S */
            real_steps_per_s: number;
            /** Run Id */
            run_id: string;
        };
        /**
         * NewAlertRule
         * @description What is not given is as the condition has it by default.
         */
        NewAlertRule: {
            /** Channel Id */
            channel_id: string;
            /**
             * Condition
             * @enum {string}
             */
            condition: "data_bound" | "hours_lost" | "verdict_changed" | "memory" | "straggler" | "host_offline";
            /**
             * Cool Down Us
             * @default 14400000000
             */
            cool_down_us: number;
            /** For Us */
            for_us?: number | null;
            /** Project */
            project?: string | null;
            /**
             * Tells Recovery
             * @default true
             */
            tells_recovery: boolean;
            /** Threshold */
            threshold?: number | null;
            /** User */
            user?: string | null;
        };
        /** NewChannel */
        NewChannel: {
            /**
             * Kind
             * @enum {string}
             */
            kind: "webhook" | "slack" | "email";
            /** Name */
            name: string;
            /** Project */
            project?: string | null;
            /**
             * To
             * @default []
             */
            to: string[];
            /** Url */
            url?: string | null;
        };
        /** NewToken */
        NewToken: {
            /** Expires At */
            expires_at?: string | null;
            /** Name */
            name: string;
            /** Project */
            project?: string | null;
            /** Scopes */
            scopes: ("ingest" | "view" | "edit" | "admin")[];
        };
        /** NewView */
        NewView: {
            /** Name */
            name: string;
            /** Project */
            project?: string | null;
            /** Query */
            query: string;
        };
        /**
         * Outlook
         * @description What is expected of a running run, if it goes on as it was judged.
         */
        Outlook: {
            /** Basis */
            basis: string | null;
            /** Hours Lost Per Hour */
            hours_lost_per_hour: number;
            /** Hours To Lose */
            hours_to_lose: number | null;
            /** Last Step */
            last_step: number | null;
            /** Left S */
            left_s?: number | null;
            /** Saved Fraction */
            saved_fraction: number | null;
            /** Saved High Fraction */
            saved_high_fraction?: number | null;
            /** Saved Low Fraction */
            saved_low_fraction?: number | null;
            /** Saved S */
            saved_s: number | null;
        };
        /**
         * Pause
         * @description The program did something else than training with this loader. Instants are on the run's clock.
         */
        Pause: {
            /** End Us */
            end_us: number;
            /**
             * Kind
             * @enum {string}
             */
            kind: "validation" | "loader" | "checkpoint" | "program" | "restart";
            /** Label */
            label: string;
            /** Loader */
            loader?: string | null;
            /** Start Us */
            start_us: number;
            /** Written Bytes */
            written_bytes?: number | null;
        };
        /**
         * PictureSize
         * @description Of pictures that are resized, in pixels; of kinds that were merged their mean.
         */
        PictureSize: {
            /** Count */
            count: number;
            /** Decoded Height */
            decoded_height: number;
            /** Decoded Width */
            decoded_width: number;
            /** Used Height */
            used_height: number;
            /** Used Width */
            used_width: number;
        };
        /** ProjectInfo */
        ProjectInfo: {
            /** Archived Runs */
            archived_runs: number;
            /** Hours Lost */
            hours_lost: number;
            /** Hours Used */
            hours_used: number;
            /**
             * Last Seen At
             * Format: date-time
             */
            last_seen_at: string;
            /** Project */
            project: string;
            /** Runs */
            runs: number;
        };
        /**
         * ProjectRetention
         * @description How long and how exactly the single steps of a project's runs are kept, and how long whole runs.
         *
         *     Null: the service's default. 0: no limit.
         */
        ProjectRetention: {
            /** Archive After Us */
            archive_after_us: number | null;
            /** Default Archive After Us */
            default_archive_after_us: number | null;
            /** Default Delete After Us */
            default_delete_after_us: number | null;
            /** Default Max Bytes */
            default_max_bytes: number | null;
            /** Default Retain Us */
            default_retain_us: number | null;
            /** Delete After Us */
            delete_after_us: number | null;
            /** Given Up At */
            given_up_at: string | null;
            /** Ladder Bytes */
            ladder_bytes: number;
            /** Max Bytes */
            max_bytes: number | null;
            /** Precision Bits */
            precision_bits: number | null;
            /** Project */
            project: string;
            /** Retain Us */
            retain_us: number | null;
            /** Row Bytes */
            row_bytes: number;
        };
        /** RankDiagnosis */
        RankDiagnosis: {
            /** Data Stall Fraction */
            data_stall_fraction: number | null;
            /** Data Wait P95 Us */
            data_wait_p95_us?: number | null;
            /** Data Wait Us */
            data_wait_us?: number | null;
            /** Queue Empty Fraction */
            queue_empty_fraction?: number | null;
            /** Rank */
            rank: number;
            /** Straggler */
            straggler: boolean;
            /**
             * Works Longer
             * @default false
             */
            works_longer: boolean;
        };
        /**
         * ReadRate
         * @description What the loads of one loader read from a place together, of all ranks that share it.
         */
        ReadRate: {
            /** Bytes Per S */
            bytes_per_s: number;
            /** Is Limited */
            is_limited: boolean;
            /** Place */
            place: string;
            /** Readers */
            readers: number;
            /** Sample Bytes */
            sample_bytes: number;
        };
        /** Refusal */
        Refusal: {
            /**
             * Change
             * @enum {string}
             */
            change: "cheaper_transform" | "cpu_allocation" | "faster_sampler" | "fewer_tensors" | "fix_rank" | "gpu_decode" | "in_order" | "more_shards" | "multiprocessing_context" | "non_blocking" | "num_workers" | "persistent_workers" | "pin_memory" | "prefetch_factor" | "prefetcher" | "shard_iterable" | "sharing_strategy" | "shm_size" | "smaller_dtype" | "snapshot_interval" | "threads_per_worker" | "tmpfs" | "vectorize_collate" | "vectorize_getitem";
            /**
             * Change Label
             * @default
             */
            change_label: string;
            /** Evidence */
            evidence: components["schemas"]["Evidence"][];
            /** Title */
            title: string;
            /** Why */
            why: string;
        };
        /**
         * Replay
         * @description What ``underfed run --replay`` measured: the training loop with real batches, and with the same again at once.
         */
        Replay: {
            /** Batches */
            batches: number;
            /** Instant Steps Per S */
            instant_steps_per_s: number;
            /** Real Steps Per S */
            real_steps_per_s: number;
        };
        /**
         * RetentionWish
         * @description Null: the service's default. 0: no limit.
         */
        RetentionWish: {
            /** Archive After Us */
            archive_after_us?: number | null;
            /** Delete After Us */
            delete_after_us?: number | null;
            /** Max Bytes */
            max_bytes?: number | null;
            /** Precision Bits */
            precision_bits?: number | null;
            /** Retain Us */
            retain_us?: number | null;
        };
        /**
         * Run
         * @description One run with everything that does not change from step to step.
         */
        Run: {
            /** Advice Of */
            advice_of: string | null;
            /** Agent Version */
            agent_version: string | null;
            /** Archived At */
            archived_at: string | null;
            best_advice: components["schemas"]["BestAdvice"] | null;
            /**
             * Bound
             * @enum {string}
             */
            bound: "data" | "transfer" | "compute" | "host" | "unknown";
            /**
             * Bound Label
             * @default
             */
            bound_label: string;
            /** Cause */
            cause: ("cpu_limited" | "dispatched_batches" | "few_shards" | "ipc_copy" | "memory_pressure" | "no_workers" | "pageable_copy" | "pin_thread" | "slow_collate" | "slow_rank" | "slow_sampler" | "slow_samples" | "state_snapshot" | "storage_limit" | "storage_wait" | "thread_oversubscription" | "too_few_workers" | "unsharded_iterable" | "worker_startup") | null;
            /** Cause Label */
            cause_label?: string | null;
            /** Command */
            command: string[];
            /** Config */
            config: {
                [key: string]: boolean | number | string | null;
            };
            /** Copy Fraction */
            copy_fraction?: number | null;
            /** Cuda Version */
            cuda_version: string | null;
            /** Cudnn Version */
            cudnn_version: string | null;
            /** Data Stall Fraction */
            data_stall_fraction: number | null;
            /** Deleted At */
            deleted_at?: string | null;
            /** Devices */
            devices: components["schemas"]["Device"][];
            /** Died Workers */
            died_workers: components["schemas"]["DiedWorker"][];
            /** Ended At */
            ended_at: string | null;
            /** Epochs */
            epochs: components["schemas"]["EpochInfo"][];
            /** Exit Reason */
            exit_reason: string | null;
            /** Gpu Hours Lost */
            gpu_hours_lost: number | null;
            /** Gpu Name */
            gpu_name: string | null;
            /** Gpus */
            gpus: number | null;
            /** Hip Version */
            hip_version: string | null;
            /** Hostnames */
            hostnames: string[];
            /** Hosts */
            hosts: components["schemas"]["HostFacts"][];
            /** Hours Lost */
            hours_lost: number | null;
            /**
             * Is Final
             * @default false
             */
            is_final: boolean;
            /** Is Mostly Paused */
            is_mostly_paused?: boolean | null;
            /** Job */
            job: string;
            /**
             * Last Seen At
             * Format: date-time
             */
            last_seen_at: string;
            /** Launcher */
            launcher: string | null;
            /**
             * Level
             * @enum {string}
             */
            level: "healthy" | "watch" | "limited" | "bound" | "unknown";
            /**
             * Level Label
             * @default
             */
            level_label: string;
            /** Loaders */
            loaders: components["schemas"]["LoaderInfo"][];
            losses: components["schemas"]["Losses"];
            /** Name */
            name: string;
            /** Namespace */
            namespace?: string | null;
            /** No Loader */
            no_loader: string | null;
            /** Not Measured */
            not_measured: {
                [key: string]: string;
            };
            /** Notes */
            notes: string;
            /** Num Workers */
            num_workers: number | null;
            /** Observed Low */
            observed_low?: number | null;
            /** Observed Speedup */
            observed_speedup: number | null;
            outlook?: components["schemas"]["Outlook"] | null;
            /** Overhead Us */
            overhead_us: number | null;
            /** Overrides */
            overrides: {
                [key: string]: boolean | number | string | null;
            };
            /**
             * Pods
             * @default []
             */
            pods: string[];
            /** Project */
            project: string;
            /** Python Version */
            python_version: string | null;
            /** Queue */
            queue?: string | null;
            /** Ranks */
            ranks: number[];
            replay: components["schemas"]["Replay"] | null;
            /** Restart Count */
            restart_count: number | null;
            /** Run Id */
            run_id: string;
            /** Samples Per S */
            samples_per_s: number | null;
            /** Script */
            script: string | null;
            /** Slurm Job Id */
            slurm_job_id?: string | null;
            /** Spark */
            spark: (number | null)[];
            /**
             * Started At
             * Format: date-time
             */
            started_at: string;
            /** Started By */
            started_by: string | null;
            /**
             * Status
             * @enum {string}
             */
            status: "running" | "finished" | "crashed" | "lost";
            /**
             * Status Label
             * @default
             */
            status_label: string;
            /** Step Us */
            step_us: number | null;
            /** Steps */
            steps: number;
            /** Steps Per S */
            steps_per_s: number | null;
            /** Storage */
            storage: components["schemas"]["StoragePlace"][];
            /** Tags */
            tags: {
                [key: string]: string;
            };
            /** Torch Version */
            torch_version: string | null;
            /**
             * Trackers
             * @default []
             */
            trackers: components["schemas"]["TrackerRun"][];
            /** Train Job */
            train_job?: string | null;
            /** User */
            user: string;
            /** World Size */
            world_size: number;
        };
        /**
         * RunChanges
         * @description Only what is given is changed; ``null`` restores the name or tags that the agent sent.
         */
        RunChanges: {
            /**
             * Archived
             * @default false
             */
            archived: boolean;
            /** Name */
            name?: string | null;
            /**
             * Notes
             * @default
             */
            notes: string;
            /** Tags */
            tags?: {
                [key: string]: string;
            } | null;
        };
        /**
         * RunEvent
         * @description Sent on ``/events`` when a run has new windows, a new status or a new diagnosis, was changed or deleted.
         */
        RunEvent: {
            /**
             * Deleted
             * @default false
             */
            deleted: boolean;
            /** Diagnosis Changed */
            diagnosis_changed: boolean;
            run: components["schemas"]["RunSummary"];
            /** Topic */
            topic: string;
        };
        /**
         * RunHistory
         * @description The runs of one job around one of them, oldest first.
         */
        RunHistory: {
            /** Job */
            job: string;
            /** Project */
            project: string;
            /** Runs */
            runs: components["schemas"]["HistoryRun"][];
        };
        /** RunsPage */
        RunsPage: {
            /** Config */
            config?: {
                [key: string]: {
                    [key: string]: boolean | number | string | null;
                };
            };
            counts: components["schemas"]["StatusCounts"];
            /** Next Cursor */
            next_cursor: string | null;
            /** Runs */
            runs: components["schemas"]["RunSummary"][];
            week: components["schemas"]["Week"];
        };
        /**
         * RunSummary
         * @description One line of the runs table.
         */
        RunSummary: {
            /** Archived At */
            archived_at: string | null;
            best_advice: components["schemas"]["BestAdvice"] | null;
            /**
             * Bound
             * @enum {string}
             */
            bound: "data" | "transfer" | "compute" | "host" | "unknown";
            /**
             * Bound Label
             * @default
             */
            bound_label: string;
            /** Cause */
            cause: ("cpu_limited" | "dispatched_batches" | "few_shards" | "ipc_copy" | "memory_pressure" | "no_workers" | "pageable_copy" | "pin_thread" | "slow_collate" | "slow_rank" | "slow_sampler" | "slow_samples" | "state_snapshot" | "storage_limit" | "storage_wait" | "thread_oversubscription" | "too_few_workers" | "unsharded_iterable" | "worker_startup") | null;
            /** Cause Label */
            cause_label?: string | null;
            /** Copy Fraction */
            copy_fraction?: number | null;
            /** Data Stall Fraction */
            data_stall_fraction: number | null;
            /** Deleted At */
            deleted_at?: string | null;
            /** Ended At */
            ended_at: string | null;
            /** Exit Reason */
            exit_reason: string | null;
            /** Gpu Hours Lost */
            gpu_hours_lost: number | null;
            /** Gpu Name */
            gpu_name: string | null;
            /** Gpus */
            gpus: number | null;
            /** Hostnames */
            hostnames: string[];
            /** Hours Lost */
            hours_lost: number | null;
            /**
             * Is Final
             * @default false
             */
            is_final: boolean;
            /** Is Mostly Paused */
            is_mostly_paused?: boolean | null;
            /** Job */
            job: string;
            /**
             * Last Seen At
             * Format: date-time
             */
            last_seen_at: string;
            /**
             * Level
             * @enum {string}
             */
            level: "healthy" | "watch" | "limited" | "bound" | "unknown";
            /**
             * Level Label
             * @default
             */
            level_label: string;
            /** Name */
            name: string;
            /** No Loader */
            no_loader: string | null;
            /** Num Workers */
            num_workers: number | null;
            /** Observed Low */
            observed_low?: number | null;
            /** Observed Speedup */
            observed_speedup: number | null;
            /** Project */
            project: string;
            /** Run Id */
            run_id: string;
            /** Samples Per S */
            samples_per_s: number | null;
            /** Spark */
            spark: (number | null)[];
            /**
             * Started At
             * Format: date-time
             */
            started_at: string;
            /**
             * Status
             * @enum {string}
             */
            status: "running" | "finished" | "crashed" | "lost";
            /**
             * Status Label
             * @default
             */
            status_label: string;
            /** Step Us */
            step_us: number | null;
            /** Steps */
            steps: number;
            /** Steps Per S */
            steps_per_s: number | null;
            /** Tags */
            tags: {
                [key: string]: string;
            };
            /** User */
            user: string;
            /** World Size */
            world_size: number;
        };
        /**
         * Series
         * @description One metric in buckets; all arrays have one length. ``missing`` says why there is nothing.
         */
        Series: {
            /** At Us */
            at_us: number[];
            /** Count */
            count: number[];
            /** First Index */
            first_index: number[];
            /** Given Up Before */
            given_up_before?: number | null;
            /** Max */
            max: (number | null)[];
            /** Mean */
            mean: (number | null)[];
            /** Metric */
            metric: string;
            /** Min */
            min: (number | null)[];
            /** Missing */
            missing: string | null;
            /** P50 */
            p50?: (number | null)[] | null;
            /** P95 */
            p95?: (number | null)[] | null;
            /** P99 */
            p99?: (number | null)[] | null;
            /** Precision Bits */
            precision_bits?: number | null;
            /**
             * Unit
             * @enum {string}
             */
            unit: "us" | "fraction" | "bytes" | "bytes_per_s" | "per_s" | "count" | "cores" | "factor" | "setting" | "w";
        };
        /** SeriesPage */
        SeriesPage: {
            /** End Us */
            end_us?: number | null;
            /** Loader */
            loader: string | null;
            /**
             * Pauses
             * @default []
             */
            pauses: components["schemas"]["Pause"][];
            /** Rank */
            rank: number;
            /** Run Id */
            run_id: string;
            /** Series */
            series: components["schemas"]["Series"][];
            /**
             * Started At
             * Format: date-time
             */
            started_at: string;
        };
        /**
         * ServiceInfo
         * @description What the page needs to begin with: the address that agents use, and whether a token is required.
         */
        ServiceInfo: {
            /** Keep Deleted Us */
            keep_deleted_us: number;
            /** Labels */
            labels?: {
                [key: string]: {
                    [key: string]: string;
                };
            };
            /** Project */
            project: string | null;
            /** Scopes */
            scopes: ("ingest" | "view" | "edit" | "admin")[];
            /** Scopes In */
            scopes_in: {
                [key: string]: ("ingest" | "view" | "edit" | "admin")[];
            };
            /** Scopes In All */
            scopes_in_all: ("ingest" | "view" | "edit" | "admin")[];
            /** Signed In */
            signed_in: boolean;
            /**
             * Started At
             * Format: date-time
             */
            started_at: string;
            /** Token Required */
            token_required: boolean;
            /** Url */
            url: string;
            /** User */
            user: string | null;
            /** Version */
            version: string;
        };
        /** Session */
        Session: {
            /** Token */
            token: string;
        };
        /**
         * SharedCause
         * @description Runs that lost time to one cause, in one place, at one time.
         */
        SharedCause: {
            /**
             * Cause
             * @enum {string}
             */
            cause: "cpu_limited" | "dispatched_batches" | "few_shards" | "ipc_copy" | "memory_pressure" | "no_workers" | "pageable_copy" | "pin_thread" | "slow_collate" | "slow_rank" | "slow_sampler" | "slow_samples" | "state_snapshot" | "storage_limit" | "storage_wait" | "thread_oversubscription" | "too_few_workers" | "unsharded_iterable" | "worker_startup";
            /**
             * Cause Label
             * @default
             */
            cause_label: string;
            /**
             * Ended At
             * Format: date-time
             */
            ended_at: string;
            /** Hours Lost */
            hours_lost: number;
            /**
             * Kind
             * @enum {string}
             */
            kind: "mount" | "host";
            /** Place */
            place: string;
            /** Runs */
            runs: components["schemas"]["SharedRun"][];
            /** Sentence */
            sentence: string;
            /**
             * Started At
             * Format: date-time
             */
            started_at: string;
        };
        /** SharedRun */
        SharedRun: {
            /** Hours Lost */
            hours_lost: number;
            /** Name */
            name: string;
            /** Run Id */
            run_id: string;
        };
        /**
         * Signal
         * @description One row of the evidence for the verdict.
         */
        Signal: {
            /** Healthy */
            healthy: string;
            measured: components["schemas"]["Evidence"];
            /**
             * Reading
             * @enum {string}
             */
            reading: "cause" | "symptom" | "ruled_out" | "not_measured";
            /** Says */
            says: string;
            /** Signal */
            signal: string;
        };
        /**
         * SlowSample
         * @description Known to about a tenth of a second.
         */
        SlowSample: {
            /** Cpu Us */
            cpu_us?: number | null;
            /** File */
            file: string | null;
            /** File Bytes */
            file_bytes?: number | null;
            /** Index */
            index: number | null;
            /** Load Us */
            load_us: number;
            /** Rank */
            rank: number;
            /** Runqueue Us */
            runqueue_us?: number | null;
            /** Worker */
            worker?: number | null;
        };
        /**
         * Speed
         * @description How many times as fast as the first run, with the 95 % interval of the ratio.
         */
        Speed: {
            /** Factor */
            factor: number;
            /** High */
            high: number;
            /** Is Told */
            is_told: boolean;
            /** Low */
            low: number;
        };
        /** StackFrame */
        StackFrame: {
            /** File */
            file: string;
            /** Function */
            function: string;
            /** Is Own */
            is_own: boolean;
            /** Line */
            line: number | null;
        };
        /** StatusCounts */
        StatusCounts: {
            /** All */
            all: number;
            /** Crashed */
            crashed: number;
            /** Finished */
            finished: number;
            /** Lost */
            lost: number;
            /** Running */
            running: number;
        };
        /**
         * StoragePlace
         * @description Where files of a loader's data set lie.
         */
        StoragePlace: {
            /** Device */
            device: string | null;
            /** Example */
            example: string | null;
            /** File System */
            file_system: string | null;
            /** Files Seen */
            files_seen: number;
            /** Hostname */
            hostname: string | null;
            /**
             * Kind
             * @enum {string}
             */
            kind: "nvme" | "ssd" | "hdd" | "network" | "memory" | "overlay" | "unknown";
            /** Loader */
            loader: string;
            /** Mount */
            mount: string;
        };
        /**
         * Team
         * @description What only several runs together show.
         */
        Team: {
            /** Datasets */
            datasets: components["schemas"]["GroupHours"][];
            /**
             * Gpu Hours Lost
             * @default 0
             */
            gpu_hours_lost: number;
            /** Hit Rates */
            hit_rates: components["schemas"]["HitRate"][];
            /** Hosts */
            hosts: components["schemas"]["GroupHours"][];
            hours: components["schemas"]["GroupHours"];
            /** Mounts */
            mounts: components["schemas"]["GroupHours"][];
            /** On Gpu */
            on_gpu: boolean;
            /** Projects */
            projects: components["schemas"]["GroupHours"][];
            /** Shared Causes */
            shared_causes: components["schemas"]["SharedCause"][];
            /**
             * Since
             * Format: date-time
             */
            since: string;
            /** Users */
            users: components["schemas"]["GroupHours"][];
        };
        /** Timeline */
        Timeline: {
            /** Batches */
            batches: components["schemas"]["TimelineBatch"][];
            /** From Us */
            from_us: number;
            /** Loader */
            loader: string | null;
            /** Missing */
            missing: string | null;
            /** Rank */
            rank: number;
            /** Run Id */
            run_id: string;
            /** Steps */
            steps: components["schemas"]["TimelineStep"][];
            /** To Us */
            to_us: number;
        };
        /** TimelineBatch */
        TimelineBatch: {
            /** Batch Index */
            batch_index: number;
            /** Blocked Us */
            blocked_us: number | null;
            /** Collate Us */
            collate_us: number | null;
            /** Cpu Us */
            cpu_us: number | null;
            /** Epoch Index */
            epoch_index: number;
            /** Load Us */
            load_us: number;
            /** Pin Us */
            pin_us: number | null;
            /** Received Us */
            received_us: number | null;
            /** Runqueue Us */
            runqueue_us: number | null;
            /** Start Us */
            start_us: number;
            /** Worker */
            worker: number | null;
        };
        /** TimelineStep */
        TimelineStep: {
            /** Batch Index */
            batch_index: number | null;
            /** Data Wait Us */
            data_wait_us: number;
            /** Epoch Index */
            epoch_index: number;
            /** Gpu Idle Us */
            gpu_idle_us: number | null;
            /** Queue Depth */
            queue_depth: number | null;
            /** Sampler Us */
            sampler_us: number | null;
            /** Start Us */
            start_us: number;
            /** Step Index */
            step_index: number;
            /** Step Us */
            step_us: number | null;
        };
        /**
         * TokenInfo
         * @description An access token, all but its secret.
         */
        TokenInfo: {
            /** Expires At */
            expires_at: string | null;
            /** Last Used At */
            last_used_at: string | null;
            /**
             * Made At
             * Format: date-time
             */
            made_at: string;
            /** Name */
            name: string;
            /** Project */
            project: string | null;
            /** Revoked At */
            revoked_at: string | null;
            /** Scopes */
            scopes: ("ingest" | "view" | "edit" | "admin")[];
            /** Token Id */
            token_id: string;
        };
        /** TokenList */
        TokenList: {
            /** Tokens */
            tokens: components["schemas"]["TokenInfo"][];
        };
        /**
         * TokenMade
         * @description The one answer that has the secret: it cannot be read again.
         */
        TokenMade: {
            /** Expires At */
            expires_at: string | null;
            /** Last Used At */
            last_used_at: string | null;
            /**
             * Made At
             * Format: date-time
             */
            made_at: string;
            /** Name */
            name: string;
            /** Project */
            project: string | null;
            /** Revoked At */
            revoked_at: string | null;
            /** Scopes */
            scopes: ("ingest" | "view" | "edit" | "admin")[];
            /** Token */
            token: string;
            /** Token Id */
            token_id: string;
        };
        /**
         * ToWrite
         * @description What a run that tuned itself is to keep for the next one, which begins as slowly without it.
         */
        ToWrite: {
            /** Detail */
            detail: string;
            /** Gain */
            gain: string;
            /** Lines */
            lines: string[];
            /** Title */
            title: string;
        };
        /**
         * TrackerRun
         * @description The same run in W&B, MLflow or TensorBoard.
         */
        TrackerRun: {
            /** Run */
            run: string;
            /** Tracker */
            tracker: string;
            /** Url */
            url?: string | null;
        };
        /**
         * Trial
         * @description One setting that ``--tune`` measured, in blocks that alternate with those of the search's other trials.
         */
        Trial: {
            /** Blocks */
            blocks: components["schemas"]["TrialBlock"][];
            /** High */
            high: number | null;
            /** Kept */
            kept: boolean;
            /** Low */
            low: number | null;
            /** Number */
            number: number;
            /** Predicted High */
            predicted_high: number | null;
            /** Predicted Low */
            predicted_low: number | null;
            /** Predicted Speedup */
            predicted_speedup: number | null;
            /** Rank */
            rank: number;
            /** Reason */
            reason: string | null;
            /** Search */
            search: number;
            /** Settings */
            settings: {
                [key: string]: boolean | number | string | null;
            };
            /** Speedup */
            speedup: number | null;
            /** Steps */
            steps: number;
            /** Steps Per S */
            steps_per_s: number | null;
        };
        /**
         * TrialBlock
         * @description Consecutive steps with one setting, those in which it started included. Instants are on the run's clock.
         */
        TrialBlock: {
            /** End Us */
            end_us: number;
            /** First Step Index */
            first_step_index: number;
            /** Start Us */
            start_us: number;
            /** Steps */
            steps: number;
        };
        /**
         * Tuning
         * @description How far ``underfed run --tune`` has come with a loader, and what it gained.
         */
        Tuning: {
            /** Began With */
            began_with: {
                [key: string]: boolean | number | string | null;
            };
            /** Gained High Us */
            gained_high_us: number | null;
            /** Gained Low Us */
            gained_low_us: number | null;
            /** Gained Us */
            gained_us: number | null;
            /** High */
            high: number | null;
            /** Kept */
            kept: {
                [key: string]: boolean | number | string | null;
            } | null;
            /** Kept From Step */
            kept_from_step: number | null;
            /** Lines */
            lines: string[];
            /** Loader */
            loader: string;
            /** Lost Us */
            lost_us: number;
            /** Low */
            low: number | null;
            /** Rank */
            rank: number;
            /** Reason */
            reason: string | null;
            /** Searches */
            searches: number;
            /** Speedup */
            speedup: number | null;
            /**
             * Status
             * @enum {string}
             */
            status: "waiting" | "searching" | "kept" | "left_alone" | "refused" | "failed" | "ended";
            /**
             * Status Label
             * @default
             */
            status_label: string;
            /** Trial Steps */
            trial_steps: number;
            /** Trial Us */
            trial_us: number;
        };
        /** UserInfo */
        UserInfo: {
            /** Archived Runs */
            archived_runs: number;
            /** Hours Lost */
            hours_lost: number;
            /** Hours Used */
            hours_used: number;
            /**
             * Last Seen At
             * Format: date-time
             */
            last_seen_at: string;
            /** Runs */
            runs: number;
            /** User */
            user: string;
        };
        /**
         * View
         * @description A list of runs that was given a name: its filter, sorting, columns and grouping.
         */
        View: {
            /**
             * Changed At
             * Format: date-time
             */
            changed_at: string;
            /** Made By */
            made_by: string;
            /** Name */
            name: string;
            /** Project */
            project: string | null;
            /** Query */
            query: string;
            /** View Id */
            view_id: string;
        };
        /**
         * ViewChanges
         * @description Only what is given is changed.
         */
        ViewChanges: {
            /**
             * Name
             * @default
             */
            name: string;
            /**
             * Query
             * @default
             */
            query: string;
        };
        /**
         * Week
         * @description Rank-hours of the last seven days, compared with the seven before; of all runs, archived and deleted ones too.
         */
        Week: {
            /** By Cause */
            by_cause: components["schemas"]["CauseHours"][];
            /** Days */
            days: components["schemas"]["DayHours"][];
            /**
             * Gpu Hours Lost
             * @default 0
             */
            gpu_hours_lost: number;
            /** Hours Lost */
            hours_lost: number;
            /** Hours Used */
            hours_used: number;
            /** On Gpu */
            on_gpu: boolean;
            /** Previous Hours Lost */
            previous_hours_lost: number;
            /** Previous Hours Used */
            previous_hours_used: number;
        };
        /** WorkerInfo */
        WorkerInfo: {
            /** Batches */
            batches: number;
            /** Blocked Fraction */
            blocked_fraction: number | null;
            /** Collate Fraction */
            collate_fraction: number | null;
            /** Cpu Fraction */
            cpu_fraction: number | null;
            /** Died */
            died: number;
            /** Is Growing */
            is_growing: boolean | null;
            /** Lives */
            lives: components["schemas"]["WorkerLife"][];
            /** Load Us Mean */
            load_us_mean: number | null;
            /** Load Us P5 */
            load_us_p5: number | null;
            /** Load Us P50 */
            load_us_p50: number | null;
            /** Load Us P95 */
            load_us_p95: number | null;
            /** Pss Bytes */
            pss_bytes: number | null;
            /** Pss Bytes Per Hour */
            pss_bytes_per_hour: number | null;
            /** Raised */
            raised: number;
            /** Read Bytes Per S */
            read_bytes_per_s: number | null;
            /** Rss Bytes */
            rss_bytes: number | null;
            /** Rss Bytes Per Hour */
            rss_bytes_per_hour: number | null;
            /** Runqueue Fraction */
            runqueue_fraction: number | null;
            /** Threads */
            threads: number | null;
            /** Worker */
            worker: number | null;
        };
        /**
         * WorkerLife
         * @description One process that had a worker's number. Instants are on the run's clock.
         */
        WorkerLife: {
            /** End Us */
            end_us: number | null;
            /** Ended */
            ended: ("returned" | "raised" | "died") | null;
            /** Epoch Index */
            epoch_index: number | null;
            /** Iterator Index */
            iterator_index: number;
            /** Pid */
            pid: number | null;
            /** Start Us */
            start_us: number | null;
        };
        /** WorkersPage */
        WorkersPage: {
            heatmap: components["schemas"]["LoadHeatmap"] | null;
            /** Limit Us */
            limit_us: number | null;
            /** Loader */
            loader: string | null;
            /** Missing */
            missing: string | null;
            /** Pin Us P50 */
            pin_us_p50: number | null;
            /** Rank */
            rank: number;
            /** Run Id */
            run_id: string;
            /** Workers */
            workers: components["schemas"]["WorkerInfo"][];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type Advice = components['schemas']['Advice'];
export type AgedRun = components['schemas']['AgedRun'];
export type AgedRuns = components['schemas']['AgedRuns'];
export type Alert = components['schemas']['Alert'];
export type AlertFix = components['schemas']['AlertFix'];
export type AlertMessage = components['schemas']['AlertMessage'];
export type AlertRule = components['schemas']['AlertRule'];
export type Alerts = components['schemas']['Alerts'];
export type AlertsPage = components['schemas']['AlertsPage'];
export type Anatomy = components['schemas']['Anatomy'];
export type AuditEntry = components['schemas']['AuditEntry'];
export type AuditPage = components['schemas']['AuditPage'];
export type BesideAction = components['schemas']['BesideAction'];
export type BestAdvice = components['schemas']['BestAdvice'];
export type Caller = components['schemas']['Caller'];
export type Candidate = components['schemas']['Candidate'];
export type Candidates = components['schemas']['Candidates'];
export type CauseFinding = components['schemas']['CauseFinding'];
export type CauseHours = components['schemas']['CauseHours'];
export type Caution = components['schemas']['Caution'];
export type ChangedSetting = components['schemas']['ChangedSetting'];
export type Channel = components['schemas']['Channel'];
export type ChannelMade = components['schemas']['ChannelMade'];
export type ComparedHotspot = components['schemas']['ComparedHotspot'];
export type ComparedRun = components['schemas']['ComparedRun'];
export type ComparedSetting = components['schemas']['ComparedSetting'];
export type Comparison = components['schemas']['Comparison'];
export type ConfigKey = components['schemas']['ConfigKey'];
export type CountedStack = components['schemas']['CountedStack'];
export type DayHours = components['schemas']['DayHours'];
export type Device = components['schemas']['Device'];
export type Diagnosis = components['schemas']['Diagnosis'];
export type DiedWorker = components['schemas']['DiedWorker'];
export type EpochInfo = components['schemas']['EpochInfo'];
export type EpochStart = components['schemas']['EpochStart'];
export type ErrorBody = components['schemas']['ErrorBody'];
export type ErrorDetail = components['schemas']['ErrorDetail'];
export type Evidence = components['schemas']['Evidence'];
export type GroupHours = components['schemas']['GroupHours'];
export type HandoverCosts = components['schemas']['HandoverCosts'];
export type Health = components['schemas']['Health'];
export type HistoryRun = components['schemas']['HistoryRun'];
export type HitRate = components['schemas']['HitRate'];
export type Host = components['schemas']['Host'];
export type HostCores = components['schemas']['HostCores'];
export type HostFacts = components['schemas']['HostFacts'];
export type HostFlow = components['schemas']['HostFlow'];
export type HostGpu = components['schemas']['HostGpu'];
export type HostHistory = components['schemas']['HostHistory'];
export type HostRun = components['schemas']['HostRun'];
export type HostSeries = components['schemas']['HostSeries'];
export type HostsPage = components['schemas']['HostsPage'];
export type HotLine = components['schemas']['HotLine'];
export type Hotspot = components['schemas']['Hotspot'];
export type HotspotsPage = components['schemas']['HotspotsPage'];
export type HoursSaved = components['schemas']['HoursSaved'];
export type JobLine = components['schemas']['JobLine'];
export type JobsPage = components['schemas']['JobsPage'];
export type LedgerEntry = components['schemas']['LedgerEntry'];
export type LoaderInfo = components['schemas']['LoaderInfo'];
export type LoaderLine = components['schemas']['LoaderLine'];
export type LoadHeatmap = components['schemas']['LoadHeatmap'];
export type Losses = components['schemas']['Losses'];
export type MeasuredReplay = components['schemas']['MeasuredReplay'];
export type NewAlertRule = components['schemas']['NewAlertRule'];
export type NewChannel = components['schemas']['NewChannel'];
export type NewToken = components['schemas']['NewToken'];
export type NewView = components['schemas']['NewView'];
export type Outlook = components['schemas']['Outlook'];
export type Pause = components['schemas']['Pause'];
export type PictureSize = components['schemas']['PictureSize'];
export type ProjectInfo = components['schemas']['ProjectInfo'];
export type ProjectRetention = components['schemas']['ProjectRetention'];
export type RankDiagnosis = components['schemas']['RankDiagnosis'];
export type ReadRate = components['schemas']['ReadRate'];
export type Refusal = components['schemas']['Refusal'];
export type Replay = components['schemas']['Replay'];
export type RetentionWish = components['schemas']['RetentionWish'];
export type Run = components['schemas']['Run'];
export type RunChanges = components['schemas']['RunChanges'];
export type RunEvent = components['schemas']['RunEvent'];
export type RunHistory = components['schemas']['RunHistory'];
export type RunsPage = components['schemas']['RunsPage'];
export type RunSummary = components['schemas']['RunSummary'];
export type Series = components['schemas']['Series'];
export type SeriesPage = components['schemas']['SeriesPage'];
export type ServiceInfo = components['schemas']['ServiceInfo'];
export type Session = components['schemas']['Session'];
export type SharedCause = components['schemas']['SharedCause'];
export type SharedRun = components['schemas']['SharedRun'];
export type Signal = components['schemas']['Signal'];
export type SlowSample = components['schemas']['SlowSample'];
export type Speed = components['schemas']['Speed'];
export type StackFrame = components['schemas']['StackFrame'];
export type StatusCounts = components['schemas']['StatusCounts'];
export type StoragePlace = components['schemas']['StoragePlace'];
export type Team = components['schemas']['Team'];
export type Timeline = components['schemas']['Timeline'];
export type TimelineBatch = components['schemas']['TimelineBatch'];
export type TimelineStep = components['schemas']['TimelineStep'];
export type TokenInfo = components['schemas']['TokenInfo'];
export type TokenList = components['schemas']['TokenList'];
export type TokenMade = components['schemas']['TokenMade'];
export type ToWrite = components['schemas']['ToWrite'];
export type TrackerRun = components['schemas']['TrackerRun'];
export type Trial = components['schemas']['Trial'];
export type TrialBlock = components['schemas']['TrialBlock'];
export type Tuning = components['schemas']['Tuning'];
export type UserInfo = components['schemas']['UserInfo'];
export type View = components['schemas']['View'];
export type ViewChanges = components['schemas']['ViewChanges'];
export type Week = components['schemas']['Week'];
export type WorkerInfo = components['schemas']['WorkerInfo'];
export type WorkerLife = components['schemas']['WorkerLife'];
export type WorkersPage = components['schemas']['WorkersPage'];
export type $defs = Record<string, never>;
export interface operations {
    alerts_api_v1_alerts_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alerts"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    make_channel_api_v1_alerts_channels_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewChannel"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelMade"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description There is another one of this name, or too many, or the service lacks a part */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    delete_channel_api_v1_alerts_channels__channel_id__delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                channel_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    test_channel_api_v1_alerts_channels__channel_id__test_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                channel_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alert"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description There is another one of this name, or too many, or the service lacks a part */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    log_api_v1_alerts_log_get: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before */
                cursor?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertsPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    logged_api_v1_alerts_log__alert_id__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                alert_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alert"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    make_rule_api_v1_alerts_rules_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAlertRule"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertRule"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description There is another one of this name, or too many, or the service lacks a part */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    delete_rule_api_v1_alerts_rules__rule_id__delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                rule_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    audit_api_v1_audit_get: {
        parameters: {
            query?: {
                action?: ("renamed" | "tagged" | "noted" | "archived" | "unarchived" | "deleted" | "restored" | "view_created" | "view_changed" | "view_deleted" | "channel_created" | "channel_deleted" | "alert_rule_created" | "alert_rule_deleted" | "token_created" | "token_revoked" | "groups_changed" | "retention_changed" | "archived_by_age" | "deleted_by_age") | null;
                /** @description As an entry names who made the change */
                by?: string | null;
                /** @description `next_cursor` of the page before */
                cursor?: string | null;
                limit?: number;
                project?: string | null;
                /** @description Only changes of this run, also of one that was removed */
                run_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    compare_api_v1_compare_get: {
        parameters: {
            query: {
                /** @description The first is the baseline of all others */
                run_id: string[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comparison"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    config_api_v1_config_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConfigKey"][];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    events_api_v1_events_get: {
        parameters: {
            query: {
                /** @description `runs`, or `run:RUN_ID` */
                topic: string[];
            };
            header?: {
                /** @description The last event seen before the stream broke */
                "last-event-id"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["RunEvent"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    hosts_api_v1_hosts_get: {
        parameters: {
            query?: {
                /** @description Intervals of the history */
                buckets?: number;
                /** @description Default: an hour before `to_at` */
                from_at?: string | null;
                /** @description Only this host, with its history */
                hostname?: string | null;
                /** @description Default: when the host was last seen */
                to_at?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HostsPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    ingest: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description On disk, now or already before */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        next_window_index: number;
                        /** @description What was last judged of the run */
                        verdict?: Record<string, never>;
                        /** @description Since what the verdict is on began to be read */
                        verdict_age_us?: number;
                        wants_run: boolean;
                    };
                };
            };
            /** @description Never acceptable */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description A token is missing, or is not known */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The token does not permit that */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description An earlier window is missing */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Larger than the service reads */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not JSON, or of an unknown compression */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description A NUL in the address */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too many requests or bytes: try later */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Later */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    jobs_api_v1_jobs_get: {
        parameters: {
            query?: {
                /** @description Default: `false`, unless `q` speaks of it */
                archived?: ("true" | "false" | "any") | null;
                bound?: ("data" | "transfer" | "compute" | "host" | "unknown") | null;
                /** @description `next_cursor` of the page before */
                cursor?: string | null;
                limit?: number;
                project?: string | null;
                /** @description A search expression, as docs/search.md describes it */
                q?: string | null;
                /** @description As of `/runs`, by the newest run, or `hours_lost` or `runs` of all */
                sort?: string;
                status?: ("running" | "finished" | "crashed" | "lost") | null;
                /** @description `key=value`, or `key` with any value */
                tag?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobsPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    projects_api_v1_projects_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectInfo"][];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    retention_api_v1_projects__project__retention_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectRetention"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    set_retention_api_v1_projects__project__retention_put: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RetentionWish"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectRetention"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    preview_api_v1_projects__project__retention_preview_get: {
        parameters: {
            query?: {
                /** @description 0: never */
                archive_after_us?: number | null;
                /** @description 0: never */
                delete_after_us?: number | null;
            };
            header?: never;
            path: {
                project: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgedRuns"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    runs_api_v1_runs_get: {
        parameters: {
            query?: {
                /** @description Default: `false`, unless `q` speaks of it */
                archived?: ("true" | "false" | "any") | null;
                bound?: ("data" | "transfer" | "compute" | "host" | "unknown") | null;
                /** @description Keys of `config` whose values are wanted */
                config?: string[];
                /** @description `next_cursor` of the page before */
                cursor?: string | null;
                /** @description Deleted runs that can be restored, and no others */
                deleted?: boolean;
                /** @description Exactly this job */
                job?: string | null;
                limit?: number;
                project?: string | null;
                /** @description A search expression, as docs/search.md describes it */
                q?: string | null;
                /** @description A key, or `config:KEY`; `-` in front: largest first */
                sort?: string;
                status?: ("running" | "finished" | "crashed" | "lost") | null;
                /** @description `key=value`, or `key` with any value */
                tag?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunsPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    run_api_v1_runs__run_id__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    remove_api_v1_runs__run_id__delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description It is running */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    edit_api_v1_runs__run_id__patch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunChanges"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    diagnosis_api_v1_runs__run_id__diagnosis_get: {
        parameters: {
            query?: {
                /** @description Default: the one that loses most of the run's time */
                loader?: string | null;
            };
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Diagnosis"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    export_api_v1_runs__run_id__export_get: {
        parameters: {
            query?: {
                /** @description `trace` opens in Perfetto; `collapsed` and `speedscope` are flame graphs of the loading */
                format?: "csv" | "parquet" | "json" | "trace" | "collapsed" | "speedscope";
            };
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    history_api_v1_runs__run_id__history_get: {
        parameters: {
            query?: {
                /** @description Runs; of more those around this one */
                limit?: number;
            };
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunHistory"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    hotspots_api_v1_runs__run_id__hotspots_get: {
        parameters: {
            query?: {
                /** @description Default: the one that was judged */
                loader?: string | null;
                /** @description `step`: the training thread between batches (`--profile`) */
                of?: "loading" | "step";
                /** @description Default: all ranks together */
                rank?: number | null;
            };
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HotspotsPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    restore_api_v1_runs__run_id__restore_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    series_api_v1_runs__run_id__series_get: {
        parameters: {
            query: {
                /** @description Maximum number of buckets */
                buckets?: number;
                from_step?: number;
                /** @description Default: the one that was judged */
                loader?: string | null;
                /** @description One or more columns of docs/wire.md (with `worker_` before those of workers, `gpu_` before those of GPUs), or compute_us, data_stall_fraction, own_cores, disk_read_bytes_per_s, disk_written_bytes_per_s, network_received_bytes_per_s, network_sent_bytes_per_s, or others_wait_us or pause_us, which have no extremes. An unknown one is answered with the list of all. */
                metric: string[];
                /** @description p50, p95 and p99 of durations; buckets may be larger */
                percentiles?: boolean;
                /** @description Default: the one that the verdict names, else the lowest */
                rank?: number | null;
                /** @description Exclusive; default: to the end */
                to_step?: number | null;
                /** @description The worker that the `worker_…` metrics are of */
                worker?: number;
            };
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SeriesPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    timeline_api_v1_runs__run_id__timeline_get: {
        parameters: {
            query?: {
                /** @description Default: the one that was judged */
                loader?: string | null;
                /** @description Default: the one that the verdict names, else the lowest */
                rank?: number | null;
            };
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Timeline"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    workers_api_v1_runs__run_id__workers_get: {
        parameters: {
            query?: {
                from_step?: number;
                /** @description Default: the one that was judged */
                loader?: string | null;
                /** @description Default: the one that the verdict names, else the lowest */
                rank?: number | null;
                /** @description Exclusive; default: to the end */
                to_step?: number | null;
            };
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkersPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    service_api_v1_service_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceInfo"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    sign_in_api_v1_session_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Session"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    sign_out_api_v1_session_delete: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    team_api_v1_team_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Team"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    tokens_api_v1_tokens_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenList"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    make_api_v1_tokens_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewToken"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenMade"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    revoke_api_v1_tokens__token_id__delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                token_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    users_api_v1_users_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserInfo"][];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    views_api_v1_views_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["View"][];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    make_api_v1_views_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewView"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["View"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description There is another one of this name */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    delete_api_v1_views__view_id__delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                view_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    change_api_v1_views__view_id__patch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                view_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ViewChanges"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["View"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description There is another one of this name */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    healthz_healthz_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    metrics_metrics_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Prometheus' text format */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": unknown;
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    readyz_readyz_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
}
