/** The processes of a VM on a machine without namespaces: ordinary children in a private directory. */
import { spawn } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { exitOf, groupMembers, signalGroup } from './child-process.ts';
import { createGate } from './gate.ts';
import { openInput } from './pipes.ts';
import type { PipeStock } from './pipes.ts';
import { isAlive, isStopped } from './proc-table.ts';
import type { ProcessRow } from './proc-table.ts';
import { listProcesses, processFamily } from './process-list.ts';
import type { VmDirectory } from './vm-directory.ts';
import type { VmFiles } from './vm-files.ts';
import { LaunchFailure } from './vm-processes.ts';
import type { LaunchRequest, VmProcess, VmProcesses } from './vm-processes.ts';
import type { Watchdog } from './watchdog.ts';

/** Signals processes until a pass finds nobody left who needs it: a family may grow while it is walked. */
async function signalFamily(
  leaders: ReadonlySet<number>,
  signal: NodeJS.Signals,
  needsIt: (row: ProcessRow) => boolean,
): Promise<void> {
  for (let passes = 0; passes < 200; passes += 1) {
    const family = processFamily(leaders).filter((row) => isAlive(row) && needsIt(row));
    if (family.length === 0) return;
    for (const { pid } of family) {
      try {
        process.kill(pid, signal);
      } catch {
        // It ended by itself.
      }
    }
    await delay(2);
  }
}

/** The processes of a VM without isolation. Those that leave their group and their parents escape. */
export function createPlainProcesses(
  directory: VmDirectory,
  files: VmFiles,
  pipes: PipeStock,
  watchdog: Watchdog,
): VmProcesses {
  const gate = createGate();
  const leaders = new Set<number>();
  let destroyed = false;

  /** Groups without members are forgotten at once: the host may give their numbers to others. */
  const forgetEnded = (): void => {
    const table = listProcesses();
    for (const leader of leaders) {
      if (table.some((row) => row.group === leader && isAlive(row))) continue;
      leaders.delete(leader);
      watchdog.forget(leader);
    }
  };

  const start = async (request: LaunchRequest): Promise<VmProcess> => {
    files.begin();
    const [program = '', ...args] = request.argv;
    const stdout = await pipes.output();
    const stderr = await pipes.output();
    const stdin = request.stdin ? openInput(await pipes.take()) : null;
    const stdinFd =
      stdin === null ? openSync('/dev/null', constants.O_RDONLY) : openSync(stdin.path, constants.O_RDONLY);
    stdin?.handedOver();
    const child = spawn(program, args, {
      detached: true,
      env: request.env,
      cwd: join(directory.root, request.cwd),
      ...(request.uid === null ? {} : { uid: request.uid }),
      ...(request.gid === null ? {} : { gid: request.gid }),
      stdio: [stdinFd, stdout.writeFd, stderr.writeFd],
    });
    for (const fd of [stdinFd, stdout.writeFd, stderr.writeFd]) closeSync(fd);
    const exit = exitOf(child);
    const { pid } = child;
    if (pid === undefined) {
      const [error] = await new Promise<[Error]>((resolve) => child.once('error', (cause) => resolve([cause])));
      for (const { reader } of [stdout, stderr]) reader.close();
      stdin?.writer.close();
      throw new LaunchFailure(error.message);
    }
    leaders.add(pid);
    watchdog.remember(pid);
    void exit.then(forgetEnded);
    return {
      pid,
      stdin: stdin?.writer ?? null,
      stdout: stdout.reader,
      stderr: stderr.reader,
      exit,
      signalGroup: (signal) => signalGroup(pid, signal, pid, listProcesses()),
      groupMembers: () => groupMembers(pid, listProcesses()),
    };
  };

  return {
    isolated: false,
    liveRoot: () => null,
    onLost: () => undefined,
    async launch(request) {
      for (;;) {
        if (destroyed) throw new LaunchFailure('the VM has ended');
        if (!gate.closed) return await start(request);
        await gate.pass();
      }
    },
    async freeze() {
      gate.close();
      forgetEnded();
      await signalFamily(leaders, 'SIGSTOP', (row) => !isStopped(row));
    },
    async thaw() {
      await signalFamily(leaders, 'SIGCONT', isStopped);
      gate.open();
    },
    async destroy() {
      destroyed = true;
      gate.open();
      forgetEnded();
      // Stopped first, so that nobody can start another while the others are being ended.
      await signalFamily(leaders, 'SIGSTOP', (row) => !isStopped(row));
      await signalFamily(leaders, 'SIGKILL', () => true);
      for (const leader of leaders) watchdog.forget(leader);
    },
  };
}
