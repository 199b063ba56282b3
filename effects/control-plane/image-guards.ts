/** What an image create is refused for before any call (`client-behaviour.md` 3.5). Pure. */
import { isSizeClass, sizeClasses } from './size-classes.ts';
import {
  checkConnectors,
  checkLogging,
  checkNonBlank,
  checkRange,
  checkRoleArn,
  quote,
  refuseArgument,
} from './shapes.ts';
import type { CreateMicrovmImageRequest, WireHooks } from './wire.ts';

/** `ImageName`: three different mistakes get three different sentences. */
function checkImageName(name: string): void {
  if (name.length === 0) refuseArgument('The image name is empty.');
  if (name.length > 64) refuseArgument(`The image name is too long: ${name.length} characters, at most 64.`);
  if (!/^[a-zA-Z0-9-_]+$/.test(name)) {
    refuseArgument(`The image name ${quote(name)} has characters other than letters, digits, - and _.`);
  }
}

/** A log group and the stream's prefix: it becomes `<prefix>/<16 hex digits>`, which has to fit too. */
export const longestStreamPrefix = 495;

function checkTags(tags: Readonly<Record<string, string>>): void {
  const allowed = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;
  for (const [key, value] of Object.entries(tags)) {
    if (key.length === 0 || key.length > 128 || !allowed.test(key)) {
      refuseArgument(`Tag key ${quote(key)} must be 1 to 128 letters, digits, separators or _ . : / = + - @.`);
    }
    if (value.length > 256 || !allowed.test(value)) {
      refuseArgument(
        `The value of tag ${quote(key)} must be at most 256 letters, digits, separators or _ . : / = + - @.`,
      );
    }
  }
}

/** Values are secret, so a message names the key at most. */
function checkEnvironment(variables: Readonly<Record<string, string>>): void {
  const entries = Object.entries(variables);
  if (entries.length > 50) refuseArgument(`environmentVariables has ${entries.length} entries; at most 50.`);
  for (const [key, value] of entries) {
    if (key.length === 0 || key.length > 256 || /\s/.test(key)) {
      refuseArgument(`Environment variable ${quote(key)} must have a name of 1 to 256 characters without white space.`);
    }
    if (value.length > 4_096) refuseArgument(`Environment variable ${quote(key)} is longer than 4096 characters.`);
  }
}

function checkHooks(hooks: WireHooks): void {
  if (hooks.port !== undefined) checkRange('hooks.port', hooks.port, 1, 65_535);
  const groups = [
    [hooks.microvmHooks, 60],
    [hooks.microvmImageHooks, 3_600],
  ] as const;
  for (const [group, most] of groups) {
    for (const [name, value] of Object.entries(group ?? {})) {
      if (typeof value === 'number') checkRange(name, value, 1, most);
    }
  }
  const { run, resume, suspend, terminate } = hooks.microvmHooks ?? {};
  if ([run, resume, suspend, terminate].includes('ENABLED') && hooks.microvmImageHooks?.ready !== 'ENABLED') {
    refuseArgument('An image with any lifecycle hook enabled needs the ready hook enabled too.');
  }
}

/**
 * Every local refusal of an image create.
 *
 * @throws VmchartError `InvalidArg`
 */
export function checkCreateImage(request: CreateMicrovmImageRequest): void {
  checkImageName(request.name);
  if (request.baseImageVersion !== undefined) checkNonBlank('baseImageVersion', request.baseImageVersion);
  if (request.logging !== undefined) checkLogging(request.logging);
  checkRoleArn('buildRoleArn', request.buildRoleArn);
  checkNonBlank('codeArtifact.uri', request.codeArtifact.uri);
  if (!/^s3:\/\/[^/]+\/.+/.test(request.codeArtifact.uri)) {
    refuseArgument(`codeArtifact.uri ${quote(request.codeArtifact.uri)} is not of the form s3://<bucket>/<key>.`);
  }
  checkNonBlank('baseImageArn', request.baseImageArn);
  for (const { minimumMemoryInMiB } of request.resources ?? []) {
    if (isSizeClass(minimumMemoryInMiB)) continue;
    refuseArgument(
      `minimumMemoryInMiB is ${minimumMemoryInMiB}; the sizes are ` +
        `${sizeClasses.map((size) => size.baselineMiB).join(', ')} MiB.`,
    );
  }
  if ((request.resources?.length ?? 0) > 1) refuseArgument('resources takes one entry.');
  checkConnectors(request);
  checkTags(request.tags ?? {});
  checkEnvironment(request.environmentVariables ?? {});
  if (request.hooks !== undefined) checkHooks(request.hooks);
}
