/** The shared profile files of the AWS tools: `~/.aws/credentials` and `~/.aws/config`. */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { VmchartError } from '../effects/errors.ts';
import type { Credentials } from '../effects/index.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Section = Readonly<Record<string, string>>;

/**
 * Reads the INI dialect of these files: `[name]` or `[profile name]`, `key = value`, lines that begin with `#` or
 * `;` are comments, indented lines belong to a nested setting and are left out.
 */
export function parseProfiles(text: string): ReadonlyMap<string, Section> {
  const sections = new Map<string, Record<string, string>>();
  let section: Record<string, string> | null = null;
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*([#;].*)?$/.test(line)) continue;
    const heading = /^\[\s*(?:profile\s+)?(.+?)\s*\]/.exec(line)?.[1];
    if (heading !== undefined) {
      const name = heading.replace(/^(["'])(.*)\1$/, '$2');
      section = sections.get(name) ?? {};
      sections.set(name, section);
      continue;
    }
    const [, key, value] = /^([^\s=][^=]*?)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (section !== null && key !== undefined && value !== undefined) {
      section[key.toLowerCase()] = value.replace(/\s[#;].*$/, '').trim();
    }
  }
  return sections;
}

async function readSections(path: string): Promise<ReadonlyMap<string, Section>> {
  try {
    return parseProfiles(await readFile(path, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    throw new VmchartError('Credentials', `The shared file ${path} cannot be read.`, {
      reason: 'unreadable-profile',
      cause: error,
    });
  }
}

/** Where the two files are: the credentials first, because they win. */
function filesOf(environment: Environment): string[] {
  const home = environment['HOME'] || environment['USERPROFILE'] || homedir();
  return [
    environment['AWS_SHARED_CREDENTIALS_FILE'] || join(home, '.aws', 'credentials'),
    environment['AWS_CONFIG_FILE'] || join(home, '.aws', 'config'),
  ];
}

function keysOf(section: Section | undefined): Credentials | null {
  const accessKeyId = section?.['aws_access_key_id'];
  const secretAccessKey = section?.['aws_secret_access_key'];
  if (!accessKeyId || !secretAccessKey) return null;
  const sessionToken = section?.['aws_session_token'];
  return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) };
}

/** What the files say of a profile. Half a key pair counts as none. */
export async function readProfile(
  profile: string,
  environment: Environment,
): Promise<{ readonly exists: boolean; readonly credentials: Credentials | null; readonly region: string | null }> {
  const sections = await Promise.all(filesOf(environment).map(readSections));
  const mine = sections.map((file) => file.get(profile));
  return {
    exists: mine.some((section) => section !== undefined),
    credentials: mine.map(keysOf).find((keys) => keys !== null) ?? null,
    region: mine.map((section) => section?.['region']).find((region) => !!region) ?? null,
  };
}
