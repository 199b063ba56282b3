/** All operations that the emulator serves. */
import type { Operation } from '../call.ts';
import type { OperationName } from '../routes.ts';
import { imageOperations } from './images.ts';
import { managedImageOperations } from './managed-images.ts';
import { microvmOperations } from './microvms.ts';
import { tagOperations } from './tags.ts';
import { tokenOperations } from './tokens.ts';
import { versionOperations } from './versions.ts';

/** By name. */
export const operations: ReadonlyMap<OperationName, Operation> = new Map(
  Object.entries({
    ...microvmOperations,
    ...tokenOperations,
    ...imageOperations,
    ...versionOperations,
    ...managedImageOperations,
    ...tagOperations,
  }) as [OperationName, Operation][],
);
