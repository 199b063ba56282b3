/** The daemon `agentd` of one emulated VM, faithful on the wire (`agentd-protocol.md`). */
import { ServerResponse } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Clock, Entropy } from '../../../effects/index.ts';
import type { Guest, GuestFaults } from '../guest.ts';
import { createGate } from '../guest/gate.ts';
import type { VmFiles } from '../guest/vm-files.ts';
import type { VmProcesses } from '../guest/vm-processes.ts';
import { createAlarms } from './alarms.ts';
import { createBootstrap } from './bootstrap.ts';
import { createExecRegistry } from './exec-registry.ts';
import { execRoutes, workingDirectory } from './exec-routes.ts';
import { fileRoute } from './file-routes.ts';
import { runHandler } from './handlers.ts';
import { healthRoute } from './health.ts';
import { createHooks } from './hooks.ts';
import { repairIdentity } from './identity-repair.ts';
import type { IdentityStep } from './identity-repair.ts';
import { imageEnvironment, readSettings } from './options.ts';
import type { DaemonOptions } from './options.ts';
import { decodeEnvelope, decodePayload } from './payload.ts';
import { Refusal } from './replies.ts';
import { createRouter } from './router.ts';
import type { Upgrade } from './router.ts';
import { schemaRoute } from './schema.ts';
import { stdinRoute } from './stdin-route.ts';
import { streamRoute } from './stream-route.ts';
import { tarRoute } from './tar-routes.ts';
import { tcpRoute } from './tcp-route.ts';

export type { DaemonGeneration, DaemonOptions, DaemonSettings } from './options.ts';

/** Exit code of a main process that was killed, as shells give it. */
const killedExitCode = 137;

/** What a daemon stands on. */
export interface DaemonWorld {
  readonly microvmId: string;
  /** The environment of the daemon: the image's variables and `AGENTD_*` settings. */
  readonly environment: Readonly<Record<string, string>>;
  readonly options: DaemonOptions;
  /** Failures on request. */
  readonly faults: GuestFaults;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly processes: VmProcesses;
  readonly files: VmFiles;
}

/** The daemon's side of a {@link Guest}. */
export interface Daemon extends Pick<Guest, 'hook' | 'handle' | 'upgrade' | 'onExit'> {
  readonly port: number;
  /** Stops answering and acting; open connections break, as they do at a suspend. */
  freeze(): void;
  thaw(): void;
  /** Ends for good. */
  close(): void;
}

/** Starts a daemon that nothing is installed in. */
export function createDaemon(world: DaemonWorld): Daemon {
  const { files, processes, entropy, options, faults } = world;
  const settings = readSettings(world.environment, options.settings);
  const powerOff = options.generation?.powerOff ?? false;
  const imageEnv = imageEnvironment(world.environment);
  const gate = createGate();
  const alarms = createAlarms(world.clock, gate);
  const bootstrap = createBootstrap(world.clock, entropy);
  const slowReaders = options.slowReaders ?? 'gap';
  const registry = createExecRegistry({ settings, slowReaders, alarms, gate, processes });
  const exitListeners = new Set<(exitCode: number) => void>();
  const open = new Set<ServerResponse>();
  const tunnels = new Set<WebSocket>();
  let identitySteps: readonly IdentityStep[] = [];
  let closed = false;

  const endedByItself = (exitCode: number): void => {
    for (const listener of exitListeners) listener(exitCode);
    exitListeners.clear();
  };
  processes.onLost(() => endedByItself(killedExitCode));
  const launchEnv = () => bootstrap.installed()?.env ?? {};
  const hooks = createHooks({
    wallSeconds: alarms.wallSeconds,
    install(envelope) {
      const outcome = bootstrap.offer(decodePayload(decodeEnvelope(envelope)));
      if (outcome === 'refused') throw new Refusal(409, null);
      if (outcome === 'installed' && settings.repairIdentity)
        identitySteps = repairIdentity(files, entropy, processes.isolated);
      return outcome;
    },
    handle: (name) =>
      runHandler(name, {
        files,
        processes,
        alarms,
        budgetMs: settings.hookHandlerTimeoutMs,
        env: { ...world.environment, ...launchEnv() },
      }),
  });
  const availableBytes = options.diskAvailableBytes ?? files.availableBytes;
  const fsWorld = { settings, files, workingDirectory, availableBytes };

  const route = createRouter(
    [
      ...hooks.routes,
      schemaRoute(settings),
      healthRoute({
        settings,
        bootstrapped: () => bootstrap.installed() !== null,
        availableBytes: () => availableBytes(workingDirectory),
        hooks: () => hooks,
        identitySteps: () => identitySteps,
        execs: () => {
          const all = registry.all();
          return { total: all.length, unpublished: all.filter(({ outcome }) => outcome === null).length };
        },
        imageEnvKeys: Object.keys(imageEnv).length,
        powerOff,
      }),
      streamRoute({ settings, registry, alarms, faults }),
      stdinRoute({ settings, registry, alarms }),
      tcpRoute({
        version: settings.version,
        generation: options.generation?.tunnel ?? '0.12',
        ...(options.generation?.tunnelPrologue === undefined ? {} : { prologue: options.generation.tunnelPrologue }),
        alarms,
        identity: () => bootstrap.installed()?.identity ?? null,
        opened(webSocket) {
          tunnels.add(webSocket);
          webSocket.once('close', () => tunnels.delete(webSocket));
        },
      }),
      fileRoute(fsWorld),
      tarRoute(fsWorld),
      ...execRoutes({
        settings,
        files,
        registry,
        imageEnv,
        launchEnv,
        canPowerOff: powerOff,
        powerOff: () => endedByItself(0),
      }),
    ],
    settings,
    bootstrap.authorize,
  );

  const serve = async (request: IncomingMessage, response: ServerResponse, upgrade?: Upgrade): Promise<void> => {
    response.on('error', () => undefined);
    request.on('error', () => undefined);
    // A frozen daemon does not answer; who still waits when it goes on is served.
    await gate.pass();
    if (faults.delayMs > 0) await new Promise<void>((resolve) => void alarms.set(faults.delayMs, resolve));
    if (closed || response.destroyed) {
      response.destroy();
      return;
    }
    open.add(response);
    response.once('close', () => open.delete(response));
    response.setHeader('microvms-agentd-version', settings.version);
    await route(request, response, upgrade);
    // What was upgraded is a tunnel now.
    if (upgrade !== undefined) open.delete(response);
  };

  const breakConnections = (): void => {
    for (const response of open) response.destroy();
    open.clear();
    for (const webSocket of tunnels) webSocket.terminate();
    tunnels.clear();
  };

  return {
    port: settings.port,
    async hook(name, body) {
      await gate.pass();
      if (closed) return { status: 502 };
      try {
        await hooks.call(name, body === null ? null : Buffer.from(JSON.stringify(body)));
        return { status: 200 };
      } catch (error) {
        return { status: error instanceof Refusal ? error.status : 500 };
      }
    },
    handle: (request, response) => void serve(request, response),
    upgrade(request, socket, head) {
      socket.on('error', () => socket.destroy());
      const response = new ServerResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket as Socket);
      response.once('finish', () => socket.end());
      void serve(request, response, { socket, head });
    },
    onExit: (listener) => void exitListeners.add(listener),
    freeze() {
      gate.close();
      breakConnections();
    },
    thaw: () => gate.open(),
    close() {
      closed = true;
      alarms.close();
      gate.open();
      breakConnections();
    },
  };
}
