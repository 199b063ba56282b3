/**
 * Watching an actor system from outside: on the page of `vmchart ui`, in Stately's inspector, or both. Whoever watches
 * never disturbs: nothing here throws into the watched program, and nothing keeps it alive.
 */
import type { StatelyInspectionEvent } from '@statelyai/inspect';
import type { WebSocket } from 'ws';
import type { AnyActorRef, InspectionEvent } from 'xstate';
import { sandboxEvents, type SandboxCommand } from '../machines/index.ts';
import { VmchartError } from '../effects/errors.ts';
import type { TraceEntry } from './trace/entry.ts';
import { inspectInto, type InspectionOptions } from './trace/inspection.ts';
import type { Feed } from './ui/wire.ts';

/** An `inspect` function for `createActor` and for `Sandbox`, which can be closed. */
export interface Inspector {
  (event: InspectionEvent): void;
  /** Sends what is left and lets go. */
  close(): Promise<void>;
}

/** Options of {@link inspectTo}. */
export interface InspectToOptions extends InspectionOptions {
  /** Lets the page send SUSPEND, RESUME and TERMINATE to lifecycle actors of this system. Off by default. */
  readonly commands?: boolean;
  /** The monotonic clock of the system, for the commands that come from the page. */
  readonly now?: () => number;
}

/** How many messages wait for the connection; the oldest go first. */
const waitingLimit = 2_000;
const retryMs = 1_000;

/**
 * Shows an actor system on the page of a running `vmchart ui`: one line for whoever has a machine.
 *
 * @param address what `vmchart ui` printed, with its token
 * @throws VmchartError of kind `InvalidArg` for an address that is none, or has no token
 * @example
 * createActor(machine, { inspect: inspectTo('http://127.0.0.1:4600/#token=…') }).start();
 */
export function inspectTo(address: string, options: InspectToOptions = {}): Inspector {
  const url = feedUrl(address);
  const { commands = false, now = () => performance.now() } = options;
  const actors = new Map<string, AnyActorRef>();
  const charts = new Set<string>();
  let count = 0;
  const events = sandboxEvents({ now, nextId: () => `page-${(count += 1)}-${Math.round(now())}` });
  const line = openLine(url, (text) => {
    const { life, command } = JSON.parse(text) as { life: string; command: SandboxCommand['type'] };
    const actor = actors.get(life);
    if (!commands || actor === undefined) return;
    if (command === 'SUSPEND') actor.send(events.suspend());
    else if (command === 'RESUME') actor.send(events.resume());
    else if (command === 'TERMINATE') actor.send(events.terminate());
  });
  let current: AnyActorRef | null = null;
  const follow = inspectInto(
    (entry: TraceEntry) => {
      if (entry.kind === 'life' && current !== null) {
        actors.set(entry.life, current);
        const chart = chartOfActor(current);
        if (chart !== null && !charts.has(entry.machine)) {
          charts.add(entry.machine);
          line.send({ type: 'chart', machine: entry.machine, config: chart });
        }
      }
      line.send({ type: 'entry', entry });
    },
    { ...options, takesCommands: commands },
  );
  return Object.assign(
    (event: InspectionEvent) => {
      current = event.actorRef as AnyActorRef;
      follow(event);
    },
    { close: () => line.close() },
  );
}

/**
 * Streams XState's inspection protocol to Stately's inspector, or to anything else that speaks it, through
 * `@statelyai/inspect`. The package is loaded with the first event.
 *
 * @param url the WebSocket of the receiver, such as `ws://localhost:8080`
 */
export function statelyInspector(url: string): Inspector {
  interface Loaded {
    readonly inspect: { next?: (event: InspectionEvent) => void };
    stop(): void;
  }
  let loaded: Loaded | null = null;
  const early: InspectionEvent[] = [];
  const loading = import('@statelyai/inspect').then(
    ({ createWebSocketInspector }) => {
      loaded = createWebSocketInspector({ url, serialize: (event: StatelyInspectionEvent) => event }) as Loaded;
      for (const event of early.splice(0)) loaded.inspect.next?.(event);
    },
    () => undefined,
  );
  return Object.assign(
    (event: InspectionEvent) => {
      if (loaded === null) early.push(event);
      else loaded.inspect.next?.(event);
    },
    {
      async close() {
        await loading;
        loaded?.stop();
      },
    },
  );
}

/** Several inspectors as one. */
export function inspectAll(
  ...inspectors: readonly ((event: InspectionEvent) => void)[]
): (event: InspectionEvent) => void {
  return (event) => {
    for (const inspect of inspectors) inspect(event);
  };
}

/** The WebSocket behind the address that a person was shown. */
function feedUrl(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : null;
  const token = url === null ? null : new URLSearchParams(url.hash.slice(1)).get('token');
  if (url === null || token === null || !/^https?:$/.test(url.protocol)) {
    throw new VmchartError('InvalidArg', 'the address of a page is needed, as vmchart ui prints it, with its token', {
      reason: 'bad-page-address',
      suggestions: ['Start vmchart ui and copy the whole address.'],
    });
  }
  return new URL(`/feed?token=${encodeURIComponent(token)}`, `ws://${url.host}`);
}

interface Line {
  send(message: Feed): void;
  close(): Promise<void>;
}

/** A WebSocket that is opened again when it breaks, and on which nobody waits. */
function openLine(url: URL, receive: (text: string) => void): Line {
  const waiting: string[] = [];
  let closed = false;
  let socket: WebSocket | null = null;
  let timer: NodeJS.Timeout | null = null;

  async function open(): Promise<void> {
    const { WebSocket } = await import('ws');
    if (closed) return;
    const opening = new WebSocket(url);
    opening.on('open', () => {
      socket = opening;
      // What watches must not keep alive what it watches.
      (opening as unknown as { _socket?: { unref(): void } })._socket?.unref();
      for (const text of waiting.splice(0)) opening.send(text);
    });
    opening.on('message', (data) => {
      try {
        receive((data as Buffer).toString('utf8'));
      } catch {
        // Not one of ours.
      }
    });
    opening.on('error', () => undefined);
    opening.on('close', () => {
      socket = null;
      if (closed) return;
      timer = setTimeout(() => void open(), retryMs);
      timer.unref();
    });
  }
  const opened = open();

  return {
    send(message) {
      const text = JSON.stringify(message);
      if (socket !== null) return socket.send(text);
      waiting.push(text);
      if (waiting.length > waitingLimit) waiting.shift();
    },
    async close() {
      await opened;
      closed = true;
      if (timer !== null) clearTimeout(timer);
      const open = socket;
      if (open === null) return;
      await new Promise<void>((resolve) => {
        open.once('close', () => resolve());
        open.close();
        setTimeout(resolve, retryMs).unref();
      });
    },
  };
}

/** The config of a statechart as plain data, guards and functions by name; `null` for any other logic. */
export function chartOfActor(actor: AnyActorRef): unknown {
  const { logic } = actor as unknown as { logic?: { config?: object; root?: unknown } };
  if (logic?.root === undefined || logic.config === undefined) return null;
  const { context: _context, ...config } = logic.config as Record<string, unknown>;
  return JSON.parse(
    JSON.stringify(config, (_key, value: unknown) => (typeof value === 'function' ? nameOfFunction(value) : value)),
  );
}

/** A conjunction and its like are functions with their parts on them. */
function nameOfFunction(value: unknown): string {
  const { name, guards, stateValue } = value as { name: string; guards?: readonly unknown[]; stateValue?: unknown };
  if (stateValue !== undefined) return `in ${typeof stateValue === 'string' ? stateValue : JSON.stringify(stateValue)}`;
  if (guards === undefined) return name === '' ? 'function' : name;
  const parts = guards.map((guard) =>
    typeof guard === 'string'
      ? guard
      : typeof guard === 'function'
        ? nameOfFunction(guard)
        : (guard as { type: string }).type,
  );
  return name === 'not' ? `¬${parts.join('')}` : parts.join(name === 'or' ? ' ∨ ' : ' ∧ ');
}
