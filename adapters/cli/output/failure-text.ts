/** How a failure reads on stderr. */
import type { CliError } from '../cli-error.ts';
import type { Paint } from './paint.ts';

/** The sentence, what to try, and the class, each a line; the stack only when asked for. */
export function failureText(error: CliError, paint: Paint, options: { readonly stack: boolean }): readonly string[] {
  const lines = [`${paint.bad('error:')} ${error.message}`];
  for (const suggestion of error.suggestions) lines.push(`  ${paint.accent('→')} ${suggestion}`);
  lines.push(paint.quiet(`  (${error.code}, exit code ${error.exitCode})`));
  if (options.stack) {
    for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
      lines.push(...(cause.stack ?? String(cause)).split('\n').map(paint.quiet));
    }
  }
  return lines;
}
