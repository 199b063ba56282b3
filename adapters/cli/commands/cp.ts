/** `vmchart cp`: files and folders to a kept VM, and back. */
import { flag, list, text } from '../arguments/argument.ts';
import { keptOptions } from '../arguments/kept.ts';
import { checkPlaces } from '../arguments/places.ts';
import { givenName } from '../arguments/vm-name.ts';
import { command } from '../command.ts';

/** Copies one thing. */
export const cpCommand = command({
  name: 'cp',
  summary: 'Copy a file or a folder to a kept VM, or back.',
  description:
    'A path in the VM begins with vm: and is absolute. A file lands under the name given, or in the folder given\n' +
    'when DEST ends with a slash or is a folder. Of a folder, the content is copied into DEST, which is made if it\n' +
    'is not there. Modes are kept, and links stay links. A dash stands for standard input or output.\n' +
    '\n' +
    'GLOB is matched against the path below the folder: * stays within one name and ** goes across folders, so that\n' +
    '*.log is of the folder itself and **/*.log of all below it, dot files included. What matches a folder holds for\n' +
    'all that is in it. Where both match, --exclude wins.\n' +
    '\n' +
    'The VM is not trusted: nothing that it sends is written outside of DEST. A copy out of the VM, or of a folder\n' +
    'into it, that is cut off leaves what was there before; of a file into the VM a part may stay.',
  positionals: [
    { key: 'source', argument: text({ summary: 'What to copy.', placeholder: 'SRC' }), required: true },
    { key: 'target', argument: text({ summary: 'Where to.', placeholder: 'DEST' }), required: true },
  ],
  options: {
    ...keptOptions,
    include: list(text({ summary: 'When copying a folder, copy only what matches.', placeholder: 'GLOB' })),
    exclude: list(text({ summary: 'When copying a folder, leave out what matches.', placeholder: 'GLOB' })),
    git: flag({ summary: 'Copy .git out of the VM too. Careful: git runs hooks and settings that are in it.' }),
    skipLinks: flag({
      summary: 'Leave out links that lead out of the folder, instead of refusing the copy; out of the VM, all links.',
    }),
  },
  examples: [
    ['vmchart cp ./src vm:/workspace/src --name box', 'A folder into the VM.'],
    [
      "vmchart cp . vm:/workspace/app --name box --exclude node_modules --exclude '**/*.log'",
      'Without what it needs not.',
    ],
    ['vmchart cp vm:/workspace/report.html ./ --name box', 'A file out of it.'],
    ["vmchart cp vm:/workspace ./src --name box --include '**/*.ts'", 'Only some of its files.'],
    ['git diff | vmchart cp - vm:/tmp/patch --name box', 'What a pipe brings, into a file.'],
    ['vmchart cp vm:/var/log/app.log - --name box | tail', 'Its content, to a pipe.'],
  ],
  async run(values, context) {
    const { source = '', target = '' } = values.positional;
    const places = checkPlaces(source, target, context.terminal.json);
    const name = givenName({ name: values.name, positional: {} }, 'cp');
    const { copy } = await import('../life/copy.ts');
    const { include, exclude, git, skipLinks, region } = values;
    return await copy(places, name, context, { include, exclude, git, skipLinks, region });
  },
});
