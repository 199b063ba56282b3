/** The options by which a command finds a kept VM. */
import { text } from './argument.ts';
import { nameOption } from './vm-name.ts';

/** `--name`, and `--region` as a check: the VM's own region always holds. */
export const keptOptions = {
  name: nameOption,
  region: text({
    summary: 'Stop with an error unless the VM is in this region; its own region is always the one used.',
    placeholder: 'REGION',
  }),
};
