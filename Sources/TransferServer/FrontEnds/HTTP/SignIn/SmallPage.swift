/// A page that says one thing to people, and has one button at most. It works without script.
struct SmallPage {
    static let type = "text/html; charset=utf-8"

    let language: String
    let title: String
    let paragraphs: [String]

    /// What its one button says, which posts nothing to the page's own address.
    var button: String?

    var bytes: [UInt8] { Array(text.utf8) }

    private var text: String {
        let paragraphs = paragraphs.map { "<p>\($0.htmlEscaped)</p>\n" }.joined()
        let form = button.map { "<form method=\"post\"><p><button>\($0.htmlEscaped)</button></p></form>\n" } ?? ""
        return """
            <!DOCTYPE html>
            <html lang="\(language)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title.htmlEscaped)</title>
            <style>
            body { font: 1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: 3rem auto; padding: 0 1rem }
            button { font: inherit; padding: .75rem 1.5rem }
            p { overflow-wrap: anywhere }
            :root { color-scheme: light dark }
            </style>
            </head>
            <body>
            <main>
            <h1>\(title.htmlEscaped)</h1>
            \(paragraphs)\(form)</main>
            </body>
            </html>

            """
    }
}
