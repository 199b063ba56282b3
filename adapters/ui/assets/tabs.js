/** Tabs after the pattern of the WAI: arrow keys walk, one panel is shown. */
import { byId, h } from './dom.js';

/** Makes tabs; returns the panel of each by its name. `onChange` is told which one is shown. */
export function makeTabs(names, onChange) {
  const panels = {};
  const buttons = names.map((name, index) => {
    const id = name.toLowerCase();
    panels[name] = h('div', {
      id: `panel-${id}`,
      class: `tab-panel ${id}`,
      role: 'tabpanel',
      'aria-labelledby': `tab-${id}`,
      tabindex: '0',
      hidden: index > 0,
    });
    return h('button', {
      id: `tab-${id}`,
      type: 'button',
      role: 'tab',
      'aria-controls': `panel-${id}`,
      'aria-selected': String(index === 0),
      tabindex: index === 0 ? '0' : '-1',
      text: name,
    });
  });
  const show = (index) => {
    for (const [at, button] of buttons.entries()) {
      button.setAttribute('aria-selected', String(at === index));
      button.tabIndex = at === index ? 0 : -1;
      panels[names[at]].hidden = at !== index;
    }
    onChange(names[index]);
  };
  for (const [index, button] of buttons.entries()) {
    button.addEventListener('click', () => show(index));
    button.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const to =
        event.key === 'Home'
          ? 0
          : event.key === 'End'
            ? names.length - 1
            : step === undefined
              ? null
              : (index + step + names.length) % names.length;
      if (to === null) return;
      event.preventDefault();
      buttons[to].focus();
      show(to);
    });
  }
  byId('tabs').append(...buttons);
  byId('tab-panels').append(...names.map((name) => panels[name]));
  return panels;
}
