// @ts-check
/** The words of the grid and the viewer. */

import { define, say } from "./words.js";

/** English, simplified Chinese, German. Chinese has no form for one. @type {Record<string, string[]>} */
const table = {
    undated: ["Without a date", "无日期", "Ohne Datum"],
    previous: ["Previous", "上一个", "Zurück"],
    next: ["Next", "下一个", "Weiter"],
    zoomIn: ["Enlarge", "放大", "Vergrößern"],
    zoomOut: ["Reduce", "缩小", "Verkleinern"],
    details: ["Details", "详细信息", "Details"],
    download: ["Download", "下载", "Herunterladen"],
    close: ["Close", "关闭", "Schließen"],
    place: ["{n} of {all}", "{n}/{all}", "{n} von {all}"],
    loading: ["Loading…", "正在加载…", "Wird geladen…"],
    gone: [
        "This file is not there any more: it was moved or removed, perhaps by another client.",
        "此文件已不存在：可能已被其他客户端移动或删除。",
        "Diese Datei ist nicht mehr da: sie wurde verschoben oder entfernt, vielleicht von einem anderen Client.",
    ],
    live: ["Live", "实况", "Live"],
    livePhoto: ["Live Photo with its movie", "实况照片及其视频", "Live Photo mit Film"],
    play: ["Play the movie", "播放视频", "Film abspielen"],
    takenBack: [
        "It was taken back, because the other file of this Live Photo could not be changed.",
        "已撤回，因为此实况照片的另一个文件无法更改。",
        "Es wurde zurückgenommen, weil sich die andere Datei des Live Photos nicht ändern ließ.",
    ],
    damaged: [
        "This picture is cut off or damaged. What could be decoded is shown.",
        "此图片不完整或已损坏。显示的是能够解码的部分。",
        "Dieses Bild ist abgeschnitten oder beschädigt. Gezeigt wird, was sich decodieren ließ.",
    ],
    damagedName: [
        "{name}, cut off or damaged",
        "{name}，不完整或已损坏",
        "{name}, abgeschnitten oder beschädigt",
    ],
    "unshown.picture": [
        "This browser cannot show this picture. Download it to look at it.",
        "此浏览器无法显示这张图片。请下载后查看。",
        "Dieser Browser kann das Bild nicht zeigen. Lade es herunter, um es anzusehen.",
    ],
    "unshown.large": [
        "This picture is too large to show here. Download it to look at it.",
        "图片太大，无法在此显示。请下载后查看。",
        "Das Bild ist zu groß, um es hier zu zeigen. Lade es herunter, um es anzusehen.",
    ],
    "unshown.media": [
        "This browser cannot play this file. Download it to play it.",
        "此浏览器无法播放此文件。请下载后播放。",
        "Dieser Browser kann die Datei nicht abspielen. Lade sie herunter, um sie abzuspielen.",
    ],
    "unshown.movie": [
        "This browser cannot play the movie of this picture. Download it to play it.",
        "此浏览器无法播放这张照片的视频。请下载后播放。",
        "Dieser Browser kann den Film dieses Bildes nicht abspielen. Lade ihn herunter, um ihn abzuspielen.",
    ],
    "unshown.text": [
        "This file has no text that can be shown.",
        "此文件没有可显示的文本。",
        "Diese Datei hat keinen Text, der sich zeigen lässt.",
    ],
    "unshown.other": [
        "There is no preview of this kind of file.",
        "此类文件无法预览。",
        "Für diese Art von Datei gibt es keine Vorschau.",
    ],
    pdf: ["Open the PDF in its own tab", "在新标签页中打开 PDF", "PDF in eigenem Tab öffnen"],
    part: [
        "The beginning of the file: {size} of {all}.",
        "文件开头部分：{size}，总共 {all}。",
        "Der Anfang der Datei: {size} von {all}.",
    ],
    "fact.path": ["Path", "路径", "Pfad"],
    "fact.size": ["Size", "大小", "Größe"],
    "fact.modified": ["Modified", "修改时间", "Geändert"],
    "fact.stored": ["Stored", "存储时间", "Gespeichert"],
    "fact.sender": ["Sent by", "发送者", "Gesendet von"],
    "fact.pixels": ["Pixels", "像素", "Pixel"],
    "fact.decoded": ["All of it could be decoded", "可完整解码", "Vollständig decodierbar"],
    "fact.taken": ["Date taken", "拍摄时间", "Aufgenommen"],
    "fact.camera": ["Camera", "相机", "Kamera"],
    "fact.location": ["Place", "地点", "Ort"],
    "fact.digest": ["Digest", "摘要", "Prüfsumme"],
    "fact.receipt": ["Receipt", "回执", "Quittung"],
    undecoded: [
        "No: the picture is cut off or damaged.",
        "否：图片不完整或已损坏。",
        "Nein: das Bild ist abgeschnitten oder beschädigt.",
    ],
    located: [
        "The file says where it was taken.",
        "文件包含拍摄地点。",
        "Die Datei verrät, wo sie aufgenommen wurde.",
    ],
    sizeAndBytes: ["{size} ({n} bytes)", "{size}（{n} 字节）", "{size} ({n} Bytes)"],
    zoned: ["{time} ({zone})", "{time}（{zone}）", "{time} ({zone})"],
    zoneUnknown: ["time zone unknown", "时区未知", "Zeitzone unbekannt"],
    loadReceipt: ["Download the receipt", "下载回执", "Quittung herunterladen"],
};

/** @param {number} at */
const words = (at) =>
    Object.fromEntries(
        Object.entries(table).filter(([, texts]) => texts[at]).map(([key, texts]) => [`look.${key}`, texts[at]]),
    );
define({ en: words(0), zh: words(1), de: words(2) });

/** The text of a key of the grid and the viewer. @param {string} key @param {Record<string, string | number>} [values] */
export const word = (key, values) => say(`look.${key}`, values);
