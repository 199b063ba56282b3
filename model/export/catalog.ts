/** The machines of this package by name: what can be drawn, listed and watched. */
import type { AnyStateMachine } from 'xstate';
import { blank } from '../../machines/daemon-exec.ts';
import { bootstrapMachine, execMachine } from '../../machines/daemon.ts';
import { imageBuildMachine } from '../../machines/image-build.ts';
import { keepAwakeMachine } from '../../machines/keep-awake.ts';
import { outputStreamMachine } from '../../machines/output-stream.ts';
import { platformMachine } from '../../machines/platform.ts';
import { noDeadlines } from '../../machines/platform-deadlines.ts';
import {
  defaultRefreshAfterMs,
  maxTokenLifetimeMs,
  nothingHeld,
  proxyTokenMachine,
} from '../../machines/proxy-token.ts';
import { contextFrom, defaultPolicy } from '../../machines/sandbox-context.ts';
import { sandboxMachine } from '../../machines/sandbox.ts';

/** A machine that can be asked for by name. */
export interface CatalogEntry {
  readonly name: string;
  /** One sentence, from the machine's own description. */
  readonly title: string;
  readonly machine: AnyStateMachine;
  /** What the functions in its config refer to: a file that stands alone has to bring it along. */
  readonly scope: Readonly<Record<string, unknown>>;
}

const scopes: Readonly<Record<string, CatalogEntry['scope']>> = {
  sandbox: { contextFrom, defaultPolicy },
  platform: { noDeadlines },
  exec: { blank },
  'proxy-token': { defaultRefreshAfterMs, maxTokenLifetimeMs, nothingHeld },
};

const machines: Readonly<Record<string, AnyStateMachine>> = {
  sandbox: sandboxMachine,
  platform: platformMachine,
  bootstrap: bootstrapMachine,
  exec: execMachine,
  'output-stream': outputStreamMachine,
  'proxy-token': proxyTokenMachine,
  'keep-awake': keepAwakeMachine,
  'image-build': imageBuildMachine,
};

/** Every machine of `machines/`, the lifecycle first. */
export const machineCatalog: readonly CatalogEntry[] = Object.entries(machines).map(([name, machine]) => ({
  name,
  title: machine.root.description ?? '',
  machine,
  scope: scopes[name] ?? {},
}));

/** The machine of that name (or of that id), or `null`. */
export function findMachine(name: string): CatalogEntry | null {
  return machineCatalog.find((entry) => entry.name === name || entry.machine.id === name) ?? null;
}
