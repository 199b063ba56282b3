/** `GET /v1/schema`: the daemon's contract as one document (`agentd-protocol.md` 6). */
import { hookPrefix } from './hooks.ts';
import type { DaemonSettings } from './options.ts';
import { sendJson } from './replies.ts';
import type { Route } from './router.ts';
import { definitions } from './schema-definitions.ts';
import { schemaRoutes } from './schema-routes.ts';

/** The limits of one daemon, under the names of the contract; times in seconds. */
export function schemaLimits(settings: DaemonSettings): Record<string, number> {
  return {
    exec_ttl_secs: settings.execTtlMs / 1_000,
    kill_grace_secs: settings.killGraceMs / 1_000,
    max_body_bytes: settings.maxBodyBytes,
    max_drain_bytes: settings.maxDrainBytes,
    max_output_bytes: settings.maxOutputBytes,
    max_stdin_write_bytes: settings.maxStdinWriteBytes,
    max_tar_bytes: settings.maxTarBytes,
    max_tar_members: settings.maxTarMembers,
    output_linger_secs: settings.outputLingerMs / 1_000,
    sse_keepalive_secs: settings.sseKeepaliveMs / 1_000,
    stdin_write_timeout_secs: settings.stdinWriteTimeoutMs / 1_000,
    stream_replay_bytes: settings.streamReplayBytes,
  };
}

/** The schema route. */
export function schemaRoute(settings: DaemonSettings): Route {
  const document = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'agentd wire contract',
    protocol_version: '1',
    daemon_version: settings.version,
    generated_from: 'vmchart emulator',
    hook_prefix: hookPrefix,
    version_header: 'microvms-agentd-version',
    auth: {
      header: 'authorization',
      scheme: 'bearer',
      bootstrap: {
        how: `POST ${hookPrefix}/run`,
        before_bootstrap: 503,
        wrong_token: 401,
        note: 'The first token is installed for the life of the VM; an identical one is accepted again, any other refused.',
      },
    },
    limits: schemaLimits(settings),
    routes: schemaRoutes,
    unmatched_path: { code: 404, meaning: 'no such route; the body is empty' },
    definition_collisions: [],
    $defs: definitions,
  };
  return { path: '/v1/schema', auth: 'none', methods: { GET: ({ response }) => sendJson(response, document) } };
}
