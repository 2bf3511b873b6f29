// What scrolls can be reached by keyboard: the theme wraps wide tables when a page is shown.
document$.subscribe(() => setTimeout(() => {
  for (const wrap of document.querySelectorAll(".md-typeset__scrollwrap")) {
    wrap.tabIndex = 0
  }
}))
