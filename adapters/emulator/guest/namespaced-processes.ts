/** The processes of a VM in namespaces of its own (`lifecycle.md`, "Processes as VMs on Linux"). */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, unlinkSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { exitOf, groupMembers, signalGroup } from './child-process.ts';
import { createGate } from './gate.ts';
import { launchScript, stdinDescriptor } from './launch-script.ts';
import { openWriterOf } from './pipes.ts';
import type { PipeStock, PipeWriter } from './pipes.ts';
import { isAlive, isFrozen, isStopped, onlyChild, readProcess, readProcesses } from './proc-table.ts';
import type { ProcessRow } from './proc-table.ts';
import { checkLaunch } from './launch-check.ts';
import type { VmDirectory } from './vm-directory.ts';
import type { VmFiles } from './vm-files.ts';
import { createVmNamespace } from './vm-namespace.ts';
import type { NamespaceKit, VmNamespace } from './vm-namespace.ts';
import { LaunchFailure } from './vm-processes.ts';
import type { LaunchRequest, VmProcess, VmProcesses } from './vm-processes.ts';

/** How often a wrapper that stopped together with its program is looked after, in milliseconds of real time. */
const wrapperCheckMs = 500;

/** Waits for the line by which a fresh process tells its number, or for its end. */
async function introduction(channel: Socket): Promise<string> {
  let text = '';
  for await (const chunk of channel.iterator({ destroyOnReturn: false })) {
    text += (chunk as Buffer).toString('latin1');
    if (text.endsWith('\n')) return text.trim();
  }
  return text.trim();
}

/** The processes of a VM; its namespaces are made with the first of them. */
export function createNamespacedProcesses(
  directory: VmDirectory,
  files: VmFiles,
  kit: NamespaceKit,
  pipes: PipeStock,
): VmProcesses {
  const gate = createGate();
  const wrappers = new Set<ChildProcess>();
  const launching = new Set<Promise<unknown>>();
  let namespace: Promise<VmNamespace> | null = null;
  const lostListeners = new Set<() => void>();
  let live: VmNamespace | null = null;
  let destroyed = false;
  let count = 0;
  let check: NodeJS.Timeout | null = null;

  /** The identity that the VM has by the time of its first process. */
  const machineId = (): string | null => {
    const text = files.readSmall('/etc/machine-id')?.toString('latin1').trim() ?? '';
    return /^[0-9a-f]{32}$/.test(text) ? text : null;
  };
  const begun = (): Promise<VmNamespace> => {
    namespace ??= createVmNamespace(directory, kit, machineId()).then(
      (made) => {
        live = made;
        void made.ended.then(() => {
          live = null;
          if (destroyed) return;
          destroyed = true;
          for (const listener of lostListeners) listener();
        });
        return made;
      },
      (error: unknown) => {
        namespace = null;
        throw error;
      },
    );
    return namespace;
  };
  const rootOf = (vm: VmNamespace): string => `/proc/${vm.initPid}/root`;
  const tableOf = (vm: VmNamespace): ProcessRow[] => (live === vm ? readProcesses(`${rootOf(vm)}/proc`) : []);

  /**
   * A wrapper stops itself when its program stops, and nobody but us can wake it. A program that another one
   * inside the VM woke would run on with a wrapper that never reports its end.
   */
  const wakeWrappers = (): void => {
    for (const { pid = 0 } of wrappers) {
      if (!isStopped(readProcess(pid))) continue;
      const child = onlyChild(pid);
      if (child === null || !isStopped(readProcess(child))) process.kill(pid, 'SIGCONT');
    }
  };
  const watch = (wrapper: ChildProcess): void => {
    wrappers.add(wrapper);
    check ??= setInterval(() => {
      if (!gate.closed) wakeWrappers();
    }, wrapperCheckMs).unref();
    const gone = (): void => {
      wrappers.delete(wrapper);
      if (wrappers.size > 0 || check === null) return;
      clearInterval(check);
      check = null;
    };
    wrapper.once('exit', gone);
    wrapper.once('error', gone);
  };

  /** An open file with the launch script and no name. */
  const scriptFile = (text: string): number => {
    const path = join(directory.path, `launch-${(count += 1)}`);
    writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
    const fd = openSync(path, 'r');
    unlinkSync(path);
    return fd;
  };

  const start = async (request: LaunchRequest): Promise<VmProcess> => {
    checkLaunch(files, request, kit.ownUsers);
    const vm = await begun();
    const stdout = await pipes.output();
    const stderr = await pipes.output();
    const script = scriptFile(launchScript(request, kit.tools, kit.ownUsers));
    const wrapper = spawn(kit.tools.setpriv, vm.enter([kit.tools.setsid, kit.tools.sh]), {
      detached: true,
      env: {},
      cwd: '/',
      stdio: [script, stdout.writeFd, stderr.writeFd, 'pipe'],
    });
    for (const fd of [script, stdout.writeFd, stderr.writeFd]) closeSync(fd);
    watch(wrapper);
    const exit = exitOf(wrapper);
    const channel = wrapper.stdio[3] as Socket;
    channel.on('error', () => undefined);
    const word = await introduction(channel);
    const fail = (why: string): never => {
      channel.destroy();
      for (const { reader } of [stdout, stderr]) reader.close();
      throw new LaunchFailure(why);
    };
    if (!/^[1-9][0-9]*$/.test(word)) {
      fail(word === 'cwd' ? `no such directory: ${request.cwd}` : 'the process did not start');
    }
    // It waits for our line, so it is there to be found.
    const leader = onlyChild(wrapper.pid ?? 0) ?? fail('the process did not start');
    let stdin: PipeWriter | null = null;
    try {
      if (request.stdin) stdin = openWriterOf(leader, stdinDescriptor);
    } catch {
      fail("this system's shell makes no pipe for standard input");
    }
    channel.end('go\n', () => channel.destroy());
    const pid = Number(word);
    return {
      pid,
      stdin,
      stdout: stdout.reader,
      stderr: stderr.reader,
      exit,
      signalGroup: (signal) => signalGroup(leader, signal, pid, tableOf(vm)),
      groupMembers: () => groupMembers(pid, tableOf(vm)),
    };
  };

  /** Runs a short command of the host's inside. */
  const inside = async (vm: VmNamespace, script: string): Promise<void> => {
    const args = vm.enter([kit.tools.sh, '-c', script]);
    await exitOf(spawn(kit.tools.setpriv, args, { detached: true, env: {}, cwd: '/', stdio: 'ignore' }));
  };

  const allStopped = (vm: VmNamespace): boolean =>
    tableOf(vm).every((row) => row.pid === 1 || isFrozen(row) || !isAlive(row)) &&
    [...wrappers].every(({ pid = 0 }) => isStopped(readProcess(pid)) || !isAlive(readProcess(pid)));

  return {
    isolated: true,
    liveRoot: () => (live === null ? null : rootOf(live)),
    onLost: (listener) => void lostListeners.add(listener),
    async launch(request) {
      for (;;) {
        if (destroyed) throw new LaunchFailure('the VM has ended');
        if (!gate.closed) break;
        await gate.pass();
      }
      const started = start(request);
      launching.add(started);
      try {
        return await started;
      } finally {
        launching.delete(started);
      }
    },
    async freeze() {
      gate.close();
      await Promise.allSettled(launching);
      if (namespace === null || destroyed) return;
      const vm = await namespace;
      await inside(vm, 'kill -s STOP -- -1');
      for (let tries = 0; tries < 400 && !allStopped(vm); tries += 1) {
        if (tries % 20 === 19) await inside(vm, 'kill -s STOP -- -1');
        await delay(5);
      }
    },
    async thaw() {
      if (namespace !== null && !destroyed) {
        const vm = await namespace;
        await inside(vm, 'kill -s CONT -- -1');
        for (const { pid = 0 } of wrappers) if (isAlive(readProcess(pid))) process.kill(pid, 'SIGCONT');
      }
      gate.open();
    },
    async destroy() {
      destroyed = true;
      gate.open();
      if (check !== null) clearInterval(check);
      const vm = await namespace?.catch(() => null);
      live = null;
      const ending = vm?.end();
      // Wrappers take their ended programs off the kernel's hands; the namespaces end after that. A stopped one has
      // to be woken first, perhaps again. Killed ones would leave that to the host's first process and its leisure.
      for (let tries = 0; wrappers.size > 0; tries += 1) {
        for (const wrapper of wrappers) wrapper.kill(tries < 100 ? 'SIGCONT' : 'SIGKILL');
        await delay(10);
      }
      await ending;
      await Promise.allSettled(launching);
    },
  };
}
