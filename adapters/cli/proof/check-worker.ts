/** A thread that runs pieces of a check: one message in, one out. */
import { parentPort } from 'node:worker_threads';
import { ModelError, runTask, type CheckTask, type ModelErrorReason, type TaskResult } from '../../../model/index.ts';

/** A piece of work, numbered. */
export interface WorkerRequest {
  readonly index: number;
  readonly task: CheckTask;
}

/** What came of it. Errors are data on this way, and become errors again on the other side. */
export type WorkerReply = { readonly index: number } & (
  | { readonly result: TaskResult }
  | { readonly error: { readonly reason: ModelErrorReason | null; readonly message: string } }
);

parentPort?.on('message', ({ index, task }: WorkerRequest) => {
  runTask(task, () => performance.now()).then(
    (result) => reply({ index, result }),
    (error: unknown) =>
      reply({
        index,
        error: {
          reason: error instanceof ModelError ? error.reason : null,
          message: error instanceof Error ? error.message : String(error),
        },
      }),
  );
});

function reply(message: WorkerReply): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window.
  parentPort?.postMessage(message);
}
