/**
 * The shapes of answers. Loaded on the first answer, because `zod` is not needed before.
 *
 * Required is only what nothing can go on without; every other member may be absent, null or of a type
 * that nobody expected, and then reads as absent. Unknown members are dropped (`control-plane-api.md` 2.2).
 */
import { z } from 'zod';

const text = z.string().nullish().catch(null);
/** A whole number, or one in a string, as some doubles send it. */
const whole = z.union([z.number().int().nonnegative(), z.string().regex(/^\d+$/).transform(Number)]);
const count = whole.nullish().catch(null);
/** Seconds since the epoch in several disguises; read by `epochMs`. */
const instant = z.unknown().optional();

const idlePolicy = z
  .object({
    maxIdleDurationSeconds: whole,
    suspendedDurationSeconds: whole,
    autoResumeEnabled: z.boolean(),
  })
  .nullish()
  .catch(null);

/** `RunMicrovm`, `GetMicrovm`. */
export const microvm = z.object({
  microvmId: z.string().min(1),
  state: z.string().min(1),
  endpoint: text,
  imageArn: text,
  imageVersion: text,
  stateReason: text,
  idlePolicy,
  maximumDurationInSeconds: count,
  startedAt: instant,
  terminatedAt: instant,
});

const microvmSummary = z.object({
  microvmId: z.string().min(1),
  state: z.string().min(1),
  imageArn: text,
  imageVersion: text,
  startedAt: instant,
});

/** `CreateMicrovmImage`, `GetMicrovmImage` and an item of `ListMicrovmImages`. */
export const image = z.object({
  imageArn: z.string().min(1),
  name: text,
  state: z.string().min(1),
  imageVersion: text,
  latestActiveImageVersion: text,
  latestFailedImageVersion: text,
  createdAt: instant,
  updatedAt: instant,
});

/** `GetMicrovmImageVersion` and an item of `ListMicrovmImageVersions`. */
export const imageVersion = z.object({
  imageArn: text,
  imageVersion: z.string().min(1),
  state: text,
  status: text,
  stateReason: text,
  resources: z
    .array(z.object({ minimumMemoryInMiB: count }))
    .nullish()
    .catch(null),
  hooks: z.object({ port: count }).nullish().catch(null),
  createdAt: instant,
});

/** `GetMicrovmImageBuild` and an item of `ListMicrovmImageBuilds`. */
export const imageBuild = z.object({
  buildId: z.string().min(1),
  buildState: z.string().min(1),
  stateReason: text,
  architecture: text,
  chipsetGeneration: text,
  snapshotBuild: z
    .object({
      memorySnapshotSizeInBytes: count,
      codeInstallSizeInBytes: count,
      diskSnapshotSizeInBytes: count,
    })
    .nullish()
    .catch(null),
});

const managedImage = z.object({ imageArn: z.string().min(1) });
const managedImageVersion = z.object({ imageVersion: z.string().min(1), status: text });

const page = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item), nextToken: z.string().nullish() });

/** Pages of the listings. */
export const microvmPage = page(microvmSummary);
export const imagePage = page(image);
export const imageVersionPage = page(imageVersion);
export const imageBuildPage = page(imageBuild);
export const managedImagePage = page(managedImage);
export const managedImageVersionPage = page(managedImageVersion);

/** `CreateMicrovmAuthToken`, `CreateMicrovmShellAuthToken`: header name to value. */
export const authToken = z.object({ authToken: z.record(z.string(), z.string()) });

/** `DeleteMicrovmImage`, `DeleteMicrovmImageVersion`. */
export const deletion = z.object({ state: text });
