/** Starting a command: the power-off gate, then the start itself (`client-behaviour.md` 4.8). */
import { VmchartError } from '../errors.ts';
import { isSuccess, statusError } from './daemon-status.ts';
import { isString, objectIn, optional } from './decode.ts';
import type { Command, StartOptions } from './exec-command.ts';
import { startBody } from './exec-command.ts';
import { ExecHandle } from './exec-handle.ts';
import { mintExecId } from './exec-id.ts';
import { healthRequest, poweroffHeader } from './health.ts';
import type { Schedule } from '../schedule.ts';
import type { Transport } from './transport.ts';

/**
 * Starts a command and returns the handle of the id that the daemon confirmed.
 *
 * A start whose answer was lost is sent again under the same id, which never makes a second child.
 */
export async function startExec(
  transport: Transport,
  command: Command,
  options: StartOptions,
  poll: Schedule,
): Promise<ExecHandle> {
  const execId = options.execId ?? mintExecId(transport.clock);
  const body = startBody(execId, command, options);
  if (options.poweroffOnExit === true) await refuseUnlessPoweroffKnown(transport, options.signal);
  const confirmed = await transport.sendJson(
    {
      method: 'POST',
      path: '/v1/exec/start',
      headers: { 'content-type': 'application/json' },
      body,
      retry: options.idempotent === false ? 'connect' : 'always',
      signal: options.signal,
    },
    (answer) => optional(objectIn(answer, 'the body'), 'exec_id', isString, ''),
  );
  return new ExecHandle(transport, confirmed === '' ? execId : confirmed, poll);
}

/** An older daemon ignores the flag in silence, so the header must promise it first. The body is not read. */
async function refuseUnlessPoweroffKnown(transport: Transport, signal: AbortSignal | undefined): Promise<void> {
  const response = await transport.request({ ...healthRequest, signal });
  if (!isSuccess(response.status)) {
    throw statusError(healthRequest.method, healthRequest.path, response, transport.secrets());
  }
  if (response.headers[poweroffHeader] !== '1') {
    throw new VmchartError(
      'InvalidArg',
      'poweroff_on_exit was asked for, but the daemon in this VM does not say that it can power it off.',
      {
        reason: 'poweroff-unavailable',
        suggestions: ['Use a newer daemon with CAP_SYS_BOOT, or terminate the VM after the command.'],
      },
    );
  }
}
