/** The options that every command has. */
import { flag } from './argument.ts';

/** `--json`, `--quiet`, `--help` and `--version`. */
export const globalOptions = {
  json: flag({ summary: 'Print one JSON object on stdout; progress goes to stderr.' }),
  quiet: flag({ summary: 'Show no progress.', short: 'q' }),
  help: flag({ summary: 'Show help.', short: 'h' }),
  version: flag({ summary: 'Show the version.', short: 'V' }),
};
