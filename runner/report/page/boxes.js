/* Boxes that scroll can be reached by the keyboard, those that need not are passed over. */
"use strict";
(() => {
  const reach = new ResizeObserver((entries) => {
    for (const { target } of entries)
      if (target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
  });
  for (const box of document.querySelectorAll(".scroll, pre")) reach.observe(box);
})();
