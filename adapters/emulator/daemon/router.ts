/** Which handler answers a request, and what is checked before it (`agentd-protocol.md` 1.5 and 2). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { drain, sendEmpty, sendFailure, textProblem } from './replies.ts';

/** A request with its path and query taken apart. */
export interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The `{id}` of the path, decoded; empty where the path has none. */
  readonly id: string;
  readonly query: URLSearchParams;
  /** The connection, where the request asks to use it for something else. */
  readonly upgrade: Upgrade | null;
}

/** A connection whose request asked for another protocol, and the first bytes of it. */
export interface Upgrade {
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** Answers a call; what it throws becomes the answer. */
export type Handler = (call: Call) => Promise<void> | void;

/** One path of the daemon. */
export interface Route {
  /** Segments; `{id}` stands for any one segment. */
  readonly path: string;
  readonly auth: 'bearer' | 'none';
  readonly methods: Readonly<Partial<Record<'GET' | 'POST' | 'PUT', Handler>>>;
}

/** The path and query of a request target of any form; never throws. */
export function splitTarget(target: string): { readonly path: string; readonly query: URLSearchParams } {
  const local = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').split('#')[0] ?? '';
  const mark = local.indexOf('?');
  return {
    path: mark < 0 ? local : local.slice(0, mark),
    query: new URLSearchParams(mark < 0 ? '' : local.slice(mark + 1)),
  };
}

/** The decoded id when `path` is of that shape, `null` when it is not. */
function match(pattern: string, path: string): string | null {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return null;
  let id = '';
  for (const [index, segment] of wanted.entries()) {
    const text = given[index] ?? '';
    if (segment !== '{id}') {
      if (segment !== text) return null;
    } else if (text === '') return null;
    else id = text;
  }
  return id;
}

/** The verdict of the bearer check: 503 while nothing is installed, 401 for strangers. */
export type Authorize = (request: IncomingMessage) => 200 | 401 | 503;

/** Serves requests from a table of routes. */
export function createRouter(
  routes: readonly Route[],
  limits: { readonly maxBodyBytes: number; readonly maxDrainBytes: number },
  authorize: Authorize,
): (request: IncomingMessage, response: ServerResponse, upgrade?: Upgrade) => Promise<void> {
  const find = (path: string): { route: Route; id: string } | null => {
    for (const route of routes) {
      const id = match(route.path, path);
      if (id !== null) return { route, id };
    }
    return null;
  };

  const answer = async (request: IncomingMessage, response: ServerResponse, upgrade: Upgrade | null): Promise<void> => {
    const { path, query } = splitTarget(request.url ?? '');
    const found = find(path);
    if (found === null) return sendEmpty(response, 404);
    const { route } = found;
    if (route.auth === 'bearer') {
      if (Number(request.headers['content-length'] ?? 0) > limits.maxBodyBytes) {
        throw textProblem(413, 'length limit exceeded');
      }
      const verdict = authorize(request);
      if (verdict !== 200) return sendEmpty(response, verdict);
    }
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const handler = route.methods[method as keyof Route['methods']];
    if (handler === undefined) {
      const allowed = Object.keys(route.methods).flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]));
      response.setHeader('allow', allowed.join(','));
      return sendEmpty(response, 405);
    }
    let id: string;
    try {
      id = decodeURIComponent(found.id);
    } catch {
      throw textProblem(400, 'invalid path');
    }
    await handler({ request, response, id, query, upgrade });
  };

  return async (request, response, upgrade) => {
    try {
      await answer(request, response, upgrade ?? null);
    } catch (error) {
      sendFailure(response, error);
    } finally {
      // After an upgrade nothing of the connection is the request's any more.
      if (upgrade === undefined) drain(request, response, limits.maxDrainBytes);
    }
  };
}
