/** The words of a refusal: what was asked, why it may not be, and that nothing was sent. */
import type { ErrorRecord, RequirementId } from './records.ts';
import type { SandboxContext } from './sandbox-context.ts';
import { machineError, suspendedFor, timeOf } from './sandbox-rules.ts';
import type { AnyEvent } from './sandbox-rules.ts';

/** Why a command was refused. */
export type RefusalReason = 'no-vm' | 'untimed-event' | RequirementId;

/** Makes the record of a refusal. `no-vm` is a Precondition, STATE-12 WindowClosed, all others InvalidArg. */
export function refusal(reason: RefusalReason, context: SandboxContext, event: AnyEvent): ErrorRecord {
  const vm = context.microvmId ?? 'the VM';
  const command = event.type;
  switch (reason) {
    case 'no-vm':
      return machineError(
        'Precondition',
        `${command} needs a VM, and this sandbox has launched none. Nothing was sent`,
        { reason },
      );
    case 'untimed-event':
      return machineError('InvalidArg', `${command} carries no \`at\`: the machine reads no clock`, { reason });
    case 'STATE-3':
      return machineError(
        'InvalidArg',
        `STATE-3: this sandbox has had its launch (${vm} is ${context.lifecycle}; agent token delivered: ${context.bootstrapCount}). ` +
          `A VM takes its agent token once in its life, so a second VM needs a second Sandbox. Nothing was sent`,
        { requirement: reason },
      );
    case 'STATE-5':
      return machineError(
        'InvalidArg',
        `STATE-5: a suspend is issued only from RUNNING; ${vm} is ${context.lifecycle}. Nothing was sent`,
        { requirement: reason },
      );
    case 'STATE-11': {
      const ending = context.lifecycle === 'TERMINATED' ? 'has ended' : 'was asked to terminate';
      return machineError(
        'InvalidArg',
        `STATE-11: ${vm} ${ending} (its state is ${context.lifecycle}) and never runs again. Nothing was sent`,
        { requirement: reason },
      );
    }
    case 'STATE-12': {
      const suspended = suspendedFor(context, timeOf(context, event));
      const elapsed = seconds(suspended?.elapsedMs ?? 0);
      const window = seconds(suspended?.windowMs ?? 0);
      return machineError(
        'WindowClosed',
        `STATE-12: suspended for ${elapsed}s, past the ${window}s suspendedDurationSeconds of the launch's idlePolicy. ` +
          `Refused before ResumeMicrovm: past its window the platform terminates a suspended VM, and when it does so ` +
          `GetMicrovm does not return it to life`,
        { requirement: reason },
      );
    }
    default:
      return machineError(
        'InvalidArg',
        `STATE-7: a resume is issued only from SUSPENDED; ${vm} is ${context.lifecycle}. Nothing was sent`,
        { requirement: 'STATE-7' },
      );
  }
}

/** Whole seconds bare, others to one decimal. */
function seconds(ms: number): string {
  const value = ms / 1000;
  return Number.isInteger(value) ? String(value) : value.toFixed(1);
}
