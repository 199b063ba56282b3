/** All operations that the emulator serves. */
import type { Operations } from '../call.ts';
import { microvmOperations } from './microvms.ts';
import { tokenOperations } from './tokens.ts';

/** By name. */
export const operations: Operations = { ...microvmOperations, ...tokenOperations };
