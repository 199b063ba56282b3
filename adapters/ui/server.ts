/**
 * The server of the page: on loopback only, without a framework. Reading is open to whoever may open the page; what
 * changes anything needs the token (see `access.ts`).
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toVmchartError } from '../../effects/index.ts';
import { refuseUpgrade, takeUpgrades } from '../upgrades.ts';
import { freshToken, refuseStranger, refuseWithoutToken, tokenHeader } from './access.ts';
import { readAssets } from './assets-folder.ts';
import { serveEvents } from './event-stream.ts';
import { FeedSource } from './feed-source.ts';
import { FleetStore } from './fleet-store.ts';
import type { FleetSource } from './source.ts';
import { pageCommands, type ChartView, type DrawChart, type PageCommand } from './wire.ts';

/** What a page is made from. */
export interface PageOptions {
  /** The port on 127.0.0.1; 0, the default, takes a free one. */
  readonly port?: number;
  readonly sources: readonly FleetSource[];
  readonly draw: DrawChart;
  /** What each requirement says, for whoever is refused by one. */
  readonly laws: Readonly<Record<string, string>>;
  /** A style sheet with the colours of the drawings. */
  readonly theme: string;
  /** What the page says about where its fleet comes from. */
  readonly title: string;
  /** A replay is shown from its beginning, step by step. */
  readonly replay?: { readonly title: string; readonly entries: readonly unknown[] };
}

/** A running page. */
export interface Page extends AsyncDisposable {
  /** Without the token. */
  readonly origin: string;
  /** To be opened in a browser: the token is behind the `#`, so that it is sent nowhere by itself. */
  readonly address: string;
  readonly token: string;
  close(): Promise<void>;
}

const bodyLimit = 64 * 1024;

const headers = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

/** A request that cannot be served; its sentence is the answer. */
class Refused extends Error {
  readonly status: number;
  constructor(status: number, sentence: string) {
    super(sentence);
    this.status = status;
  }
}

/**
 * Starts the page.
 *
 * @throws the system's error when the port is taken
 */
export async function startPage(options: PageOptions): Promise<Page> {
  const token = freshToken();
  const assets = await readAssets();
  assets.set('/theme.css', { type: 'text/css; charset=utf-8', body: Buffer.from(options.theme) });
  const store = new FleetStore();
  const feed = new FeedSource();
  const sources: readonly FleetSource[] = [...options.sources, feed];
  const streams = new Set<{ end(): void }>();
  const charts = new Map<string, Promise<ChartView | null>>();
  let port = 0;

  const launcher = sources.find((source) => source.launch !== undefined);
  const greeting = {
    title: options.title,
    canLaunch: launcher !== undefined,
    laws: options.laws,
    replay: options.replay ?? null,
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const stranger = refuseStranger(request, port);
    if (stranger !== null) throw new Refused(stranger.status, stranger.sentence);
    const target = request.url ?? '/';
    if (!URL.canParse(target, 'http://page')) throw new Refused(400, 'This address is not well-formed.');
    const { pathname } = new URL(target, 'http://page');
    if (request.method === 'GET' || request.method === 'HEAD') return await read(pathname, response);
    if (request.method !== 'POST') throw new Refused(405, 'Only GET and POST are understood here.');
    const given = request.headers[tokenHeader];
    const refusal = refuseWithoutToken(typeof given === 'string' ? given : null, token);
    if (refusal !== null) throw new Refused(refusal.status, refusal.sentence);
    return await change(pathname, await bodyOf(request), response);
  }

  async function read(path: string, response: ServerResponse): Promise<void> {
    const asset = assets.get(path);
    if (asset !== undefined) {
      response.writeHead(200, { ...headers, 'content-type': asset.type, 'content-length': asset.body.length });
      response.end(asset.body);
      return;
    }
    if (path === '/events') {
      const stream = serveEvents(response, store, greeting);
      streams.add(stream);
      response.on('close', () => streams.delete(stream));
      return;
    }
    const [, collection, name = '', part = null] = stepsOf(path);
    if (collection === 'lives') {
      const life = store.life(name);
      if (life === null) throw new Refused(404, `Nothing is known of ${name}.`);
      return sendJson(response, 200, { seq: store.seq, entries: life.log });
    }
    if (collection === 'charts') {
      const chart = await chartOf(name, part);
      if (chart === null) throw new Refused(404, `No chart of ${name} is known.`);
      return sendJson(response, 200, chart);
    }
    throw new Refused(404, 'There is nothing at this address.');
  }

  async function chartOf(machine: string, part: string | null): Promise<ChartView | null> {
    const key = JSON.stringify([machine, part]);
    const drawing = charts.get(key) ?? options.draw(machine, feed.configOf(machine), part);
    charts.set(key, drawing);
    const chart = await drawing.catch(() => null);
    // One that came to nothing may be drawn once its config has arrived.
    if (chart === null) charts.delete(key);
    return chart;
  }

  async function change(path: string, body: unknown, response: ServerResponse): Promise<void> {
    const [, collection, name = '', what] = stepsOf(path);
    if (collection !== 'lives') throw new Refused(404, 'There is nothing at this address.');
    if (name === '') {
      if (launcher?.launch === undefined) throw new Refused(409, 'Nothing can be launched from this page.');
      return sendJson(response, 200, { life: await launcher.launch() });
    }
    const source = sources.find((candidate) => candidate.has(name));
    if (source === undefined) throw new Refused(404, `Nothing is known of ${name}.`);
    const { command, line } = (body ?? {}) as { command?: unknown; line?: unknown };
    if (what === 'commands') {
      if (!(pageCommands as readonly unknown[]).includes(command))
        throw new Refused(400, `A command is one of ${pageCommands.join(', ')}.`);
      if (source.send === undefined) throw new Refused(409, `${name} takes no commands from here.`);
      return sendJson(response, 200, await source.send(name, command as PageCommand));
    }
    if (what === 'lines') {
      if (typeof line !== 'string' || line.trim() === '') throw new Refused(400, 'A line to run is needed.');
      if (source.run === undefined) throw new Refused(409, `No lines can be run in ${name} from here.`);
      await source.run(name, line);
      return sendJson(response, 200, {});
    }
    throw new Refused(404, 'There is nothing at this address.');
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      if (response.headersSent) return response.destroy();
      const { message: sentence, requirement, suggestions } = toVmchartError(error);
      const status = error instanceof Refused ? error.status : 422;
      sendJson(response, status, { error: { sentence, requirement, suggestions } });
    });
  });
  const endFeeds = takeUpgrades(server, async (request, socket, head) => {
    const target = request.url ?? '/';
    if (!URL.canParse(target, 'http://page'))
      return refuseUpgrade(socket, 'HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
    const url = new URL(target, 'http://page');
    const refusal = refuseStranger(request, port) ?? refuseWithoutToken(url.searchParams.get('token'), token);
    if (url.pathname !== '/feed' || refusal !== null)
      return refuseUpgrade(socket, 'HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n');
    return await feed.accept(request, socket, head);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  port = (server.address() as AddressInfo).port;
  for (const source of sources) await source.start(store.tell);
  // The lifecycle is what nearly every page shows first.
  void chartOf('sandbox', null);

  let closed: Promise<void> | null = null;
  async function close(): Promise<void> {
    for (const stream of streams) stream.end();
    await Promise.all(sources.map((source) => source.close()));
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
      endFeeds();
    });
  }
  const origin = `http://127.0.0.1:${port}`;
  return {
    origin,
    address: `${origin}/#token=${token}`,
    token,
    close: () => (closed ??= close()),
    [Symbol.asyncDispose]: () => (closed ??= close()),
  };
}

function stepsOf(path: string): string[] {
  try {
    return path.split('/').map((step) => decodeURIComponent(step));
  } catch {
    throw new Refused(400, 'This address is not well-formed.');
  }
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, {
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
  });
  response.end(body);
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  // A form of another page cannot send this type without being asked about.
  if (!(request.headers['content-type'] ?? '').startsWith('application/json'))
    throw new Refused(415, 'A body is JSON here.');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bodyLimit) throw new Refused(413, 'The body is too large.');
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8') || 'null') as unknown;
  } catch {
    throw new Refused(400, 'The body is no JSON.');
  }
}
