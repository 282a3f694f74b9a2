import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel

/// The page of a folder for browsers: a document without content, which its scripts fill. Browsers without scripts are led to the table
/// (`ListingPage`).
struct PageShell {
    let language: Negotiation.Language

    /// The folder's path as the client knows it; empty for its top folder.
    let path: String

    /// The client, for its name and its rights.
    let grant: Grant

    /// Whether the client has a session that it can end.
    let hasSession: Bool

    /// Whether the server moves all that is removed or replaced to the trash.
    let trashes: Bool

    /// The query of the table for browsers without scripts.
    static let tableQuery = "table"

    /// Forbids everything that does not come from this server as it was built. Scripts can make no markup of texts (Trusted Types), and only
    /// the policy `transfer` names the script of a worker.
    private static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' blob:",
        "media-src 'self' blob:", "connect-src 'self'", "worker-src 'self'", "manifest-src 'self'", "frame-src 'self'",
        "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
        "trusted-types transfer",
    ].joined(separator: "; ")

    private static let fields = [
        ("Cache-Control", "private, no-cache"), ("Vary", "Accept, Accept-Language, Cookie, Authorization"),
        ("Content-Security-Policy", policy), ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Permissions-Policy", "screen-wake-lock=(self), camera=(), microphone=(), geolocation=()"),
    ]

    var reply: HTTPReply { HTTPReply(200, Self.fields, Array(text.utf8), type: SmallPage.type) }

    private var text: String {
        let assets = PageAssets.shared
        let modules = PageAssets.modules(language.rawValue).map { name in
            "<link rel=\"modulepreload\" href=\"\(assets.folder)\(name)\">\n"
        }.joined()
        let name = path.isEmpty ? "Transfer" : path.htmlEscaped + " \u{2013} Transfer"
        return """
            <!DOCTYPE html>
            <html lang="\(language.rawValue)" data-name="\(grant.name.htmlEscaped)" data-rights="\(rights)"\
            \(hasSession ? " data-session" : "")\(trashes ? " data-trash" : "") data-page="\(assets.folder)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
            <title>\(name)</title>
            <link rel="icon" href="\(assets.folder)icon.svg">
            <link rel="stylesheet" href="\(assets.folder)page.css">
            \(modules)<script type="module" src="\(assets.folder)main.js"></script>
            <noscript><meta http-equiv="refresh" content="0;url=?\(Self.tableQuery)"></noscript>
            </head>
            <body>
            <noscript><p><a href="?\(Self.tableQuery)">\(withoutScripts)</a></p></noscript>
            </body>
            </html>

            """
    }

    private var rights: String {
        let rights = grant.options.rights
        let names = [(rights.mayRead, "read"), (rights.mayWrite, "write"), (rights.mayRemove, "remove")]
        return names.filter(\.0).map(\.1).joined(separator: " ")
    }

    private var withoutScripts: String {
        switch language {
        case .english: "Show this folder as a table"
        case .chinese: "以表格显示此文件夹"
        case .german: "Diesen Ordner als Tabelle zeigen"
        }
    }
}

extension RequestHead {
    /// Whether a person looks at the answer: the client wants a page rather than anything, as a browser does for an address that its user
    /// opens, and not for a picture in a page or a request of a script.
    var wantsPage: Bool {
        guard method == .get || method == .head else { return false }
        // Programs that accept any type get the problem details or the JSON, because those come first.
        let offers = ["application/json", "text/html"]
        return Negotiation.mediaType(fields.values("accept"), of: offers)?.hasSameBytes(as: offers[1]) ?? false
    }

    /// The language of pages for this client.
    var language: Negotiation.Language { Negotiation.language(fields.values("accept-language")) }
}
