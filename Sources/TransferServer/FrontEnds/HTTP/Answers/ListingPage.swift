import TransferHTTP
import TransferModel

/// A folder as a page for people, which works without script.
struct ListingPage {
    /// What the page says, in one language.
    struct Words {
        let language: String
        let folder: String
        let name: String
        let size: String
        let modified: String
        let above: String
        let empty: String
        let send: String
        let signedIn: String
        let signOut: String

        static let english = Words(
            language: "en", folder: "Folder", name: "Name", size: "Size", modified: "Changed", above: "Up",
            empty: "There is nothing here.", send: "Send files", signedIn: "Signed in as",
            signOut: "Sign out")

        static let chinese = Words(
            language: "zh", folder: "文件夹", name: "名称", size: "大小", modified: "修改时间", above: "上一级",
            empty: "这里什么也没有。", send: "发送文件", signedIn: "已登录：", signOut: "退出")
    }

    let words: Words

    /// Whether the client may send files.
    let maySend: Bool

    /// Who is signed in, where this is the page of a session.
    var session: String?

    func opening(_ path: String) -> String {
        let title = "\(words.folder) /\(path)".htmlEscaped
        let above = path.isEmpty ? "" : "<p><a href=\"../\">\(words.above)</a></p>\n"
        return """
            <!DOCTYPE html>
            <html lang="\(words.language)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title)</title>
            <style>
            body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 1rem auto; padding: 0 1rem }
            table { width: 100%; border-collapse: collapse }
            th, td { text-align: left; padding: .25rem .5rem; overflow-wrap: anywhere }
            .n { text-align: right; white-space: nowrap }
            tr:nth-child(even) { background: #8881 }
            :root { color-scheme: light dark }
            </style>
            </head>
            <body>
            <h1>\(title)</h1>
            \(signOut)\(above)\(maySend ? form : "")<table>
            <thead><tr><th scope="col">\(words.name)</th><th scope="col" class="n">\(words.size)</th>\
            <th scope="col" class="n">\(words.modified)</th></tr></thead>
            <tbody>

            """
    }

    private var signOut: String {
        guard let session else { return "" }
        return """
            <form method="post" action="/\(RelativePath.reservedName)/out">
            <p>\(words.signedIn) \(session.htmlEscaped) <button>\(words.signOut)</button></p>
            </form>

            """
    }

    /// Works without script: the browser sends what was chosen, and shows the folder again.
    private var form: String {
        """
        <form method="post" enctype="multipart/form-data">
        <p><label>\(words.send) <input type="file" name="file" multiple required></label> \
        <button>\(words.send)</button></p>
        </form>

        """
    }

    func row(_ entry: EntryDocument) -> String {
        let name =
            entry.path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(decoding: $0, as: UTF8.self) } ?? ""
        let end = entry.isDirectory ? "/" : ""
        let size = entry.isDirectory ? "" : ByteFormat.size(entry.size)
        let time = UTCTime(clamping: entry.modified.seconds).description
        // Below this page, whatever the name begins with.
        let link = "./" + PercentEncoding.component(name.utf8) + end
        return """
            <tr><td><a href="\(link)">\((name + end).htmlEscaped)</a></td><td class="n">\(size)</td><td class="n">\(time)</td></tr>

            """
    }

    func ending(_ count: Int) -> String {
        "</tbody>\n</table>\n" + (count == 0 ? "<p>\(words.empty)</p>\n" : "") + "</body>\n</html>\n"
    }
}
