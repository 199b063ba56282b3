/** How a command is run in a VM. */
import { decimal, flag, text } from './argument.ts';

/** The longest deadline that makes sense: no VM lives longer than eight hours. In seconds. */
const longestSec = 28_800;

/** The options of a command in a VM. */
export const executionOptions = {
  timeout: decimal(
    {
      summary: 'End the command after this time; the VM itself keeps the time.',
      placeholder: 'SECONDS',
      defaultText: 'none',
    },
    { min: 0.001, max: longestSec },
  ),
  user: text({
    summary: 'Run the command as this user, by name or number.',
    placeholder: 'USER',
    defaultText: "the image's",
  }),
  cwd: text({ summary: 'Run the command in this folder of the VM.', placeholder: 'PATH', defaultText: "the image's" }),
  execStatus: flag({ summary: "Exit with the command's own status instead of 13 when it fails." }),
};

/** The values of {@link executionOptions}. */
export interface ExecutionValues {
  readonly timeout: number | undefined;
  readonly user: string | undefined;
  readonly cwd: string | undefined;
}

/** The values as a session takes them. */
export function executionFrom({ timeout, user, cwd }: ExecutionValues) {
  return {
    ...(timeout === undefined ? {} : { deadlineMs: Math.round(timeout * 1_000) }),
    ...(user === undefined ? {} : { user: /^\d+$/.test(user) ? Number(user) : user }),
    ...(cwd === undefined ? {} : { cwd }),
  };
}
