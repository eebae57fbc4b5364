"use strict";
// Turns, links between what is quoted and where it stands, keys, and an overview that keeps up. All of it is made of
// what stands in the page: nothing here makes markup out of text.
(() => {
  const body = document.body;
  const isFile = "file" in body.dataset;
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // Within the list of turns alone: the page stays where it is.
  function keepInView(link) {
    const list = link?.closest(".timeline");
    if (!list) return;
    const top = link.offsetTop - list.offsetTop;
    if (top < list.scrollTop || top + link.offsetHeight > list.scrollTop + list.clientHeight) {
      list.scrollTop = top - list.clientHeight / 2;
    }
  }

  function showTurn(turn) {
    body.dataset.turn = turn;
    for (const link of all("[data-turn-link]")) {
      if (Number(link.dataset.turnLink) === turn) {
        link.setAttribute("aria-current", "step");
        keepInView(link);
      } else link.removeAttribute("aria-current");
    }
    for (const article of all("[data-turn-of]")) article.hidden = Number(article.dataset.turnOf) !== turn;
    for (const card of all("[data-from]")) {
      const from = Number(card.dataset.from);
      card.hidden = turn < from || turn > Number(card.dataset.until);
      card.classList.toggle("fresh", from === turn && turn > 0);
      if (card.hidden) card.removeAttribute("id");
      else card.id = card.dataset.item;
    }
    for (const group of all("[data-group]")) group.hidden = !group.querySelector("[data-from]:not([hidden])");
    for (const shelf of all("[data-shelf]")) {
      const cards = all("[data-from]:not([hidden])", shelf);
      const unread = cards.filter((card) => card.classList.contains("unread")).length + Number(shelf.dataset.leftUnread);
      const count = cards.length + Number(shelf.dataset.leftOut);
      shelf.querySelector("[data-count]").textContent = count + (unread ? ` · ${unread} unread` : "");
    }
    const when = document.getElementById("stood-when");
    if (when) when.textContent = turn === 0 ? "at the beginning" : `after turn ${turn}`;
  }

  function arrive(name) {
    const found = all(`[data-item="${CSS.escape(name)}"]`).find((each) => !each.hidden) || document.getElementById(name);
    if (!found) return false;
    for (let each = found; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
    const inner = found.querySelector("details");
    if (inner) inner.open = true;
    found.scrollIntoView({ block: "center" });
    found.focus({ preventScroll: true });
    found.classList.remove("arrives");
    void found.offsetWidth;
    found.classList.add("arrives");
    return true;
  }

  // A long text is asked for when it is opened.
  async function readWhole(link) {
    const answer = await fetch(link.href);
    if (!answer.ok) return;
    link.previousElementSibling.firstElementChild.textContent = await answer.text();
    link.remove();
  }

  document.addEventListener("toggle", (event) => {
    if (event.target.open) all(":scope > [data-whole]", event.target).forEach(readWhole);
  }, true);

  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    const link = event.target.closest("a");
    if (!link) return;
    if (link.dataset.whole !== undefined) {
      event.preventDefault();
      readWhole(link);
      return;
    }
    if (isFile && link.dataset.turnLink !== undefined) {
      event.preventDefault();
      showTurn(Number(link.dataset.turnLink));
      return;
    }
    if (link.dataset.gotoTurn !== undefined && Number(link.dataset.gotoTurn) !== Number(body.dataset.turn)) {
      if (!isFile) return;
      showTurn(Number(link.dataset.gotoTurn));
    }
    if (link.dataset.goto !== undefined && arrive(link.dataset.goto)) event.preventDefault();
    else if (isFile && link.dataset.gotoTurn !== undefined) {
      event.preventDefault();
      document.getElementById("day")?.scrollIntoView();
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    const step = { ArrowLeft: -1, k: -1, ArrowRight: 1, j: 1 }[event.key];
    if (step && body.dataset.page === "assessment") {
      const turn = Number(body.dataset.turn) + step;
      if (turn < 0 || turn > Number(body.dataset.last)) return;
      event.preventDefault();
      if (isFile) showTurn(turn);
      else document.querySelector(`[data-turn-link="${turn}"]`)?.click();
    } else if (event.key === "/") {
      const search = document.querySelector("input[type=search]");
      if (search) {
        event.preventDefault();
        search.focus();
      }
    }
  });

  const here = decodeURIComponent(location.hash.slice(1));
  if (here && !/^(day|roles|scores|losses|rest|main)$/.test(here)) arrive(here);
  keepInView(document.querySelector("[aria-current]"));
  if (here && document.getElementById(here)) document.getElementById(here).scrollIntoView();

  if (body.dataset.page === "overview") {
    document.getElementById("pair").addEventListener("submit", (event) => {
      event.preventDefault();
      const picked = all("[data-pick]:checked").map((each) => each.value);
      if (picked.length === 2) {
        location.assign(`/compare?a=${encodeURIComponent(picked[0])}&b=${encodeURIComponent(picked[1])}`);
      }
    });
  }

  // What is under way is asked for anew, and put in place of what stands there; what was opened stays open.
  if (!isFile && ["overview", "running"].includes(body.dataset.page)) {
    setInterval(async () => {
      if (document.hidden || document.querySelector("[data-pick]:checked")) return;
      try {
        const answer = await fetch(location.href, { cache: "no-store" });
        if (!answer.ok) return;
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        if (page.body.dataset.page !== body.dataset.page) {
          location.reload(); // it has ended: this is another page now
          return;
        }
        const fresh = page.getElementById("live");
        const old = document.getElementById("live");
        if (!fresh || !old || fresh.innerHTML === old.dataset.told) return;
        fresh.dataset.told = fresh.innerHTML;
        const open = new Set(all("details[open] > summary", old).map((each) => each.textContent));
        for (const each of all("details > summary", fresh)) if (open.has(each.textContent)) each.parentElement.open = true;
        const focused = old.contains(document.activeElement) && document.activeElement.getAttribute("href");
        old.replaceWith(fresh);
        if (focused) fresh.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
      } catch { /* the server is away: the next time */ }
    }, 3000);
  }

  const player = document.getElementById("player");
  if (player) {
    addEventListener("DOMContentLoaded", () => {
      const cast = document.getElementById("cast");
      AsciinemaPlayer.create(cast ? { data: cast.textContent } : player.dataset.recording, player, {
        fit: "width", idleTimeLimit: 2, poster: "npt:0:03", theme: "asciinema",
      });
    });
  }
})();
