/** Where a check runs: on threads, one for each core, as far as there is work for them. */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { ModelError, runTask, type CheckHost, type CheckTask, type TaskResult } from '../../../model/index.ts';
import type { WorkerReply, WorkerRequest } from './check-worker.ts';

/** What is told while the check runs. */
export interface CheckProgress {
  readonly done: (finished: number, all: number) => void;
}

const compiled = import.meta.url.endsWith('.js');

/**
 * A host for {@link runCheck}.
 *
 * @param signal ends the check: its threads stop at once
 */
export function checkHost(signal: AbortSignal, progress: CheckProgress): CheckHost {
  const now = () => performance.now();
  return {
    now,
    run: async (tasks) => {
      const threads = Math.min(availableParallelism(), tasks.length);
      // From the sources, as tests run it, there is nothing that a thread could load.
      if (!compiled || threads < 2) return await inOrder(tasks, now, signal, progress);
      return await onThreads(tasks, threads, signal, progress);
    },
  };
}

async function inOrder(
  tasks: readonly CheckTask[],
  now: () => number,
  signal: AbortSignal,
  progress: CheckProgress,
): Promise<readonly TaskResult[]> {
  const results: TaskResult[] = [];
  for (const task of tasks) {
    signal.throwIfAborted();
    results.push(await runTask(task, now));
    progress.done(results.length, tasks.length);
  }
  return results;
}

async function onThreads(
  tasks: readonly CheckTask[],
  threads: number,
  signal: AbortSignal,
  progress: CheckProgress,
): Promise<readonly TaskResult[]> {
  const results = new Map<number, TaskResult>();
  const workers = Array.from({ length: threads }, () => new Worker(new URL('./check-worker.js', import.meta.url)));
  let next = 0;
  try {
    await new Promise<void>((resolve, reject) => {
      const stop = () => reject(signal.reason as Error);
      if (signal.aborted) stop();
      signal.addEventListener('abort', stop, { once: true });
      for (const worker of workers) {
        const giveWork = () => {
          const task = tasks[next];
          if (task === undefined) return;
          // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window.
          worker.postMessage({ index: next, task } satisfies WorkerRequest);
          next += 1;
        };
        worker.on('error', reject);
        worker.on('message', (reply: WorkerReply) => {
          if ('error' in reply) {
            const { reason, message } = reply.error;
            reject(reason === null ? new Error(message) : new ModelError(reason, message));
            return;
          }
          results.set(reply.index, reply.result);
          progress.done(results.size, tasks.length);
          if (results.size === tasks.length) resolve();
          else giveWork();
        });
        giveWork();
      }
    });
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
  return tasks.map((_task, index) => {
    const result = results.get(index);
    if (result === undefined) throw new Error(`piece ${index + 1} of the check was lost`);
    return result;
  });
}
