/** The daemon's routes as its schema document lists them (`agentd-protocol.md` 1.4, 2 and 6). */
import { hookPrefix } from './hooks.ts';
import { ref } from './schema-definitions.ts';
import type { Schema } from './schema-definitions.ts';

interface Body {
  readonly media_type: string;
  readonly schema?: Schema;
  readonly note?: string;
}

interface Status {
  readonly code: number;
  readonly error: string;
  readonly meaning: string;
}

/** A route of the document. */
export interface SchemaRoute {
  readonly method: string;
  readonly path: string;
  readonly auth: string;
  readonly summary: string;
  readonly request: Body | null;
  readonly response: Body | null;
  readonly query?: Body;
  readonly statuses: readonly Status[];
  readonly sse_events?: readonly { readonly event: string; readonly meaning: string; readonly schema: Schema }[];
}

const json = (name: string): Body => ({ media_type: 'application/json', schema: ref(name) });
const query = (name: string): Body => ({ media_type: 'application/x-www-form-urlencoded', schema: ref(name) });
const bytes = (media_type: string, note: string): Body => ({ media_type, note });
const status = (code: number, error: string, meaning: string): Status => ({ code, error, meaning });

const ok = status(200, '', 'done');
const written = status(204, '', 'written');
const tooLarge = status(413, '', 'the body is over the limit');
const failed = status(500, '', 'the file system refused');
const full = status(507, '', 'the write would eat into the disk reserve');
const malformed = status(400, 'malformed_request', 'the body, the query or a value of it is unusable');
const unknownExec = status(404, 'unknown_exec', 'never registered, or collected');
const bearerStatuses = [status(401, '', 'no or a wrong token'), status(503, '', 'no token is installed yet')];

type Rest = Omit<SchemaRoute, 'method' | 'path' | 'auth' | 'request' | 'response'> &
  Partial<Pick<SchemaRoute, 'request' | 'response'>>;

const bearer = (method: string, path: string, rest: Rest): SchemaRoute => ({
  method,
  path,
  auth: 'bearer',
  request: null,
  response: null,
  ...rest,
  statuses: [...rest.statuses, ...bearerStatuses],
});

const hook = (name: string, summary: string, rest: Partial<SchemaRoute> = {}): SchemaRoute => ({
  method: 'POST',
  path: `${hookPrefix}/${name}`,
  auth: 'none (platform hook)',
  summary,
  request: null,
  response: null,
  statuses: [ok],
  ...rest,
});

const open = (path: string, summary: string, response: Body): SchemaRoute => ({
  method: 'GET',
  path,
  auth: 'none',
  summary,
  request: null,
  response,
  statuses: [ok],
});

/** All routes. */
export const schemaRoutes: readonly SchemaRoute[] = [
  hook('ready', 'Readiness at the image build.'),
  hook('validate', 'Validation at the image build.'),
  hook('run', 'The one-shot bootstrap.', {
    request: json('RunHookEnvelope'),
    statuses: [
      ok,
      status(400, '', 'the envelope or the payload is unusable'),
      status(409, '', 'another token is installed'),
    ],
  }),
  hook('suspend', "Before the freeze: runs the workload's handler."),
  hook('resume', "After the thaw: runs the workload's handler."),
  hook('terminate', "The VM is about to end: runs the workload's handler."),
  bearer('POST', '/v1/exec/start', {
    summary: 'Starts a command, once for each id.',
    request: json('StartRequest'),
    response: json('StartResponse'),
    statuses: [
      ok,
      malformed,
      status(400, 'unknown_user', 'no such user in the VM'),
      status(400, 'unknown_group', 'no such group in the VM'),
      status(400, 'unknown_shell', 'no such shell in the VM'),
      tooLarge,
      status(500, 'spawn_failed', 'the system refused to start the child'),
    ],
  }),
  bearer('GET', '/v1/exec/{id}', {
    summary: 'Shows the phase, and a result that is held.',
    response: json('PollResponse'),
    statuses: [ok, unknownExec],
  }),
  bearer('GET', '/v1/exec/{id}/stream', {
    summary: 'Follows the output from a byte offset.',
    query: query('StreamQuery'),
    response: bytes('text/event-stream', 'events as listed'),
    statuses: [ok, malformed, unknownExec],
    sse_events: [
      { event: 'output', meaning: 'bytes of one pipe read', schema: ref('OutputEvent') },
      { event: 'gap', meaning: 'bytes that will not come on this connection', schema: ref('GapEvent') },
      { event: 'exit', meaning: 'the result; the last event', schema: ref('ExitEvent') },
    ],
  }),
  bearer('POST', '/v1/exec/{id}/stdin', {
    summary: 'Writes to standard input, or ends it.',
    request: json('StdinRequest'),
    response: json('StdinResponse'),
    statuses: [
      ok,
      malformed,
      unknownExec,
      status(408, 'stdin_write_timeout', 'the child did not read in time; a part may be in'),
      status(409, 'stdin_not_requested', 'started without stdin'),
      status(410, 'stdin_closed', 'the pipe is closed'),
      status(413, 'stdin_write_too_large', 'more than one write may carry'),
      status(500, 'stdin_write_failed', 'another failure of the pipe'),
    ],
  }),
  bearer('POST', '/v1/exec/{id}/ack', {
    summary: 'Hands the output out, once.',
    response: json('PollResponse'),
    statuses: [
      ok,
      unknownExec,
      status(409, 'still_running', 'there is no result yet'),
      status(409, 'already_acked', 'the output was handed out before'),
    ],
  }),
  bearer('POST', '/v1/exec/{id}/kill', {
    summary: 'Ends the process group.',
    response: json('KillResponse'),
    statuses: [ok, unknownExec],
  }),
  bearer('GET', '/v1/procs', {
    summary: 'Lists the processes of all execs.',
    response: json('ProcsResponse'),
    statuses: [ok],
  }),
  bearer('GET', '/v1/tcp', {
    summary: 'Relays a WebSocket to a port inside the VM.',
    query: query('TunnelQuery'),
    statuses: [status(101, '', 'switched to WebSocket'), malformed],
  }),
  bearer('GET', '/v1/fs/file', {
    summary: 'Reads a file or a range of its lines.',
    query: query('FileReadQuery'),
    response: bytes('application/octet-stream', 'the bytes of the file'),
    statuses: [ok, status(400, '', 'the query is unusable, or a directory'), status(404, '', 'no such file'), failed],
  }),
  bearer('PUT', '/v1/fs/file', {
    summary: 'Writes a file.',
    query: query('FsQuery'),
    request: bytes('application/octet-stream', 'the bytes of the file'),
    statuses: [written, status(400, '', 'the query is unusable'), tooLarge, failed, full],
  }),
  bearer('GET', '/v1/fs/tar', {
    summary: 'Downloads a directory tree.',
    query: query('FsQuery'),
    response: bytes('application/x-tar', 'an uncompressed archive'),
    statuses: [
      ok,
      status(400, '', 'the query is unusable, or no directory'),
      status(404, '', 'no such directory'),
      status(413, '', 'the tree is over a limit'),
      failed,
    ],
  }),
  bearer('PUT', '/v1/fs/tar', {
    summary: 'Uploads and extracts an archive.',
    query: query('FsQuery'),
    request: bytes('application/x-tar', 'an uncompressed archive'),
    statuses: [
      written,
      status(400, '', 'the query, the body or a member is refused'),
      status(413, '', 'the body or its members are over a limit'),
      failed,
      full,
    ],
  }),
  open('/v1/health', 'Liveness and state.', json('Health')),
  open('/v1/schema', 'This document.', bytes('application/json', 'this document')),
];
