/** Real processes as the inside of emulated VMs. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VmchartError } from '../../../effects/index.ts';
import type { Clock, Entropy } from '../../../effects/index.ts';
import { systemClock } from '../../clock.ts';
import { systemEntropy } from '../../entropy.ts';
import type { DaemonOptions } from '../daemon/index.ts';
import type { Guest, GuestFactory, GuestFaults } from '../guest.ts';
import { chooseIsolation } from './isolation.ts';
import type { IsolationChoice } from './isolation.ts';
import { readSharedView } from './mounts.ts';
import { createNamespacedProcesses } from './namespaced-processes.ts';
import { createPipeStock } from './pipes.ts';
import type { PipeStock } from './pipes.ts';
import { createPlainProcesses } from './plain-processes.ts';
import { findTool } from './tools.ts';
import { createVmFiles } from './vm-files.ts';
import type { VmFiles } from './vm-files.ts';
import type { VmProcesses } from './vm-processes.ts';
import { createVmDirectory } from './vm-directory.ts';
import { startWatchdog } from './watchdog.ts';
import type { Watchdog } from './watchdog.ts';

/** See {@link createProcessGuests}. Everything has a default. */
export interface ProcessGuestsOptions {
  /** `auto` (the default) isolates as well as this machine allows; `plain` does not isolate. */
  readonly isolation?: IsolationChoice;
  /** Absolute paths of the host that VMs see read-only beside `/usr`, `/bin` and `/lib*`. */
  readonly sharedPaths?: readonly string[];
  /** Where the VMs' directories are made. The system's directory for temporary files by default. */
  readonly directory?: string;
  /**
   * Time for deadlines, lingers and retention. Real by default, whatever clock the platform has: programs live in
   * real time, and a deadline on a faster clock would end commands that are on time.
   */
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** How the daemon behaves in every VM. `AGENTD_*` variables of a VM's environment win over it. */
  readonly daemon?: DaemonOptions;
}

/** VMs made of real processes. */
export interface ProcessGuests extends GuestFactory {
  /** Failures on request, in whichever VM comes next. */
  readonly faults: GuestFaults;
}

const standardEnvironment = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/root',
};

/**
 * VMs whose programs really run: each VM has its own root, process ids and memory as far as the machine allows.
 * Directories and processes are made when they are first needed, and none is left behind, however the emulator ends.
 *
 * @example
 * const guests = createProcessGuests();
 * const guest = await guests.create({ microvmId: 'microvm-1', environment: {} });
 * await guest.hook('run', { microvmId: 'microvm-1', runHookPayload: JSON.stringify({ agent_token: token }) });
 */
export function createProcessGuests(options: ProcessGuestsOptions = {}): ProcessGuests {
  const isolation = chooseIsolation(options.isolation);
  const clock = options.clock ?? systemClock();
  const entropy = options.entropy ?? systemEntropy();
  const view = readSharedView(options.sharedPaths);
  const sh = findTool('sh') ?? '/bin/sh';
  const mkfifo = findTool('mkfifo') ?? 'mkfifo';
  const guests = new Set<Guest>();
  let home: { readonly path: string; readonly watchdog: Watchdog; readonly pipes: PipeStock } | null = null;
  let count = 0;
  let closed = false;
  const faults: GuestFaults = { streamCuts: [], delayMs: 0 };

  const begin = () => {
    if (home === null) {
      const path = mkdtempSync(join(options.directory ?? tmpdir(), 'vmchart-'));
      home = { path, watchdog: startWatchdog(sh, path), pipes: createPipeStock(join(path, 'pipes'), mkfifo) };
    }
    return home;
  };

  return {
    notice: isolation.notice,
    faults,
    async create({ microvmId, environment }) {
      if (closed) throw new VmchartError('Precondition', 'these guests are closed');
      const { path, pipes, watchdog } = begin();
      const directory = createVmDirectory(
        join(path, String((count += 1))),
        isolation.kind === 'namespaces' ? view : null,
      );
      const files: VmFiles = createVmFiles(directory, view, () => processes.liveRoot());
      const processes: VmProcesses =
        isolation.kind === 'namespaces'
          ? createNamespacedProcesses(directory, files, { ...isolation, view }, pipes)
          : createPlainProcesses(directory, files, pipes, watchdog);
      // Loaded with the first VM: it brings the libraries for archives, sockets and machines.
      const { createDaemon } = await import('../daemon/index.ts');
      if (closed) throw new VmchartError('Precondition', 'these guests are closed');
      const daemon = createDaemon({
        microvmId,
        environment: { ...standardEnvironment, ...environment },
        options: options.daemon ?? {},
        faults,
        clock,
        entropy,
        processes,
        files,
      });
      let ending: Promise<void> | null = null;
      const guest: Guest = {
        daemonPort: daemon.port,
        faults,
        hook: daemon.hook,
        handle: daemon.handle,
        upgrade: daemon.upgrade,
        onExit: daemon.onExit,
        async freeze() {
          daemon.freeze();
          await processes.freeze();
        },
        async thaw() {
          await processes.thaw();
          daemon.thaw();
        },
        destroy() {
          ending ??= (async () => {
            daemon.close();
            await processes.destroy();
            await directory.remove();
            guests.delete(guest);
          })();
          return ending;
        },
      };
      guests.add(guest);
      return guest;
    },
    async close() {
      closed = true;
      await Promise.all([...guests].map((guest) => guest.destroy()));
      const last = home;
      home = null;
      await last?.watchdog.end();
    },
  };
}
