/** The list of commands. Help reads this alone; a command's file is loaded when it is called for. */
import type { CommandEntry } from '../command.ts';

/** In the order in which help shows them. */
export const commands: readonly CommandEntry[] = [];
