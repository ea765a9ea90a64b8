/* The keyboard reaches boxes that scroll, and skips those that need not. */
"use strict";
(() => {
  const reach = new ResizeObserver((entries) => {
    for (const { target } of entries)
      if (target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
  });
  for (const box of document.querySelectorAll(".scroll, pre")) reach.observe(box);
})();
