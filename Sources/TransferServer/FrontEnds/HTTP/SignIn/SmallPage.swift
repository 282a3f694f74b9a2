import TransferAccess
import TransferHTTP
import TransferModel

/// A page with a title, some paragraphs, and at most one button and one link. It works without scripts.
struct SmallPage {
    static let type = "text/html; charset=utf-8"

    /// The style of pages without scripts. The colours are those of `page.css`.
    static let look = """
        :root { color-scheme: light dark; --ground: #fff; --text: #16202b; --accent: #1a5fb4; --on-accent: #fff; --line: #dde2e8 }
        @media (prefers-color-scheme: dark) {
        :root { --ground: #14181d; --text: #e7ecf1; --accent: #8abbf5; --on-accent: #0c1a2a; --line: #333c46 }
        }
        body { font: 1rem/1.5 system-ui, sans-serif; padding: 0 1rem; background: var(--ground); color: var(--text) }
        h1 { font-size: 1.5rem; line-height: 1.25 }
        h1, p { overflow-wrap: anywhere }
        a { color: var(--accent) }
        button, input { font: inherit; max-width: 100% }
        button { min-height: 2.75rem; padding: 0 1.25rem; border: 1px solid var(--line); border-radius: 8px; background: none; color: inherit }
        """

    let language: String
    let title: String
    let paragraphs: [String]

    /// A sentence of the server in English; nil for none.
    var detail: String?

    /// Address and text of a link; nil for none.
    var link: (address: String, text: String)?

    /// The button's text; it posts an empty form to the page's own address. Nil for no button.
    var button: String?

    var bytes: [UInt8] { Array(text.utf8) }

    private var text: String {
        let paragraphs = paragraphs.map { "<p>\($0.htmlEscaped)</p>\n" }.joined()
        let detail = detail.map { "<p lang=\"en\"><small>\($0.htmlEscaped)</small></p>\n" } ?? ""
        let link = link.map { "<p><a href=\"\($0.address.htmlEscaped)\">\($0.text.htmlEscaped)</a></p>\n" } ?? ""
        let form = button.map { "<form method=\"post\"><p><button>\($0.htmlEscaped)</button></p></form>\n" } ?? ""
        return """
            <!DOCTYPE html>
            <html lang="\(language)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title.htmlEscaped)</title>
            <style>
            \(Self.look)
            body { max-width: 36rem; margin: 3rem auto }
            button { background: var(--accent); border-color: var(--accent); color: var(--on-accent) }
            </style>
            </head>
            <body>
            <main>
            <h1>\(title.htmlEscaped)</h1>
            \(paragraphs)\(detail)\(link)\(form)</main>
            </body>
            </html>

            """
    }
}

extension UTCTime {
    /// As people write it: `2026-12-31 23:59 UTC`.
    var forReaders: String { "\(description.prefix(10)) \(description.dropFirst(11).prefix(5)) UTC" }
}

/// The texts of pages about signing in, in the language that the browser prefers.
struct PageWords {
    private let language: Negotiation.Language

    init(_ head: RequestHead) {
        language = head.language
    }

    /// The page of a valid link.
    func offer(_ link: AccessToken) -> [UInt8] {
        let end = link.sessionEnds?.forReaders ?? ""
        return switch language {
        case .english:
            page(
                "Sign in",
                "This link signs this browser in as \u{201C}\(link.name)\u{201D}, until \(end) or "
                    + "until you sign out. It works once.",
                "Use it on your own devices only.", button: "Sign in")
        case .chinese:
            page(
                "登录", "此链接让这个浏览器以“\(link.name)”的身份登录，有效期至 \(end)，或到您退出为止。链接只能使用一次。",
                "请只在您自己的设备上使用。", button: "登录")
        case .german:
            page(
                "Anmelden",
                "Dieser Link meldet diesen Browser als \u{201E}\(link.name)\u{201C} an, bis \(end) oder bis zur Abmeldung. "
                    + "Er funktioniert einmal.",
                "Benutze ihn nur auf eigenen Geräten.", button: "Anmelden")
        }
    }

    /// The page of a link that is invalid, used or expired.
    var used: [UInt8] {
        switch language {
        case .english:
            page(
                "This link does not work", "It was used already, has expired, or is incomplete.",
                "Ask the person who gave it to you for a new one. If you made it yourself: transfer access pair --web")
        case .chinese:
            page("此链接无效", "它已被使用、已过期，或不完整。", "请向给您链接的人要一个新的。如果那就是您自己：transfer access pair --web")
        case .german:
            page(
                "Dieser Link funktioniert nicht", "Er wurde schon benutzt, ist abgelaufen oder unvollständig.",
                "Bitte um einen neuen, wo du ihn her hast. Wer ihn selbst gemacht hat: transfer access pair --web")
        }
    }

    /// The page if a link cannot be checked now.
    var later: [UInt8] {
        switch language {
        case .english: page("Not now", "The server cannot check this link now. Try again later.")
        case .chinese: page("请稍候", "服务器现在无法检查此链接，请稍后再试。")
        case .german:
            page("Nicht jetzt", "Der Server kann diesen Link gerade nicht prüfen. Versuche es später noch einmal.")
        }
    }

    /// The page after signing out.
    var left: [UInt8] {
        switch language {
        case .english: page("Signed out", "This browser no longer has access. To sign in again, ask for a new link.")
        case .chinese: page("已退出", "此浏览器不再有访问权限。如需再次登录，请索取新的链接。")
        case .german:
            page(
                "Abgemeldet",
                "Dieser Browser hat keinen Zugang mehr. Für eine neue Anmeldung brauchst du einen neuen Link.")
        }
    }

    /// The page for browsers that are not signed in.
    var wayIn: [UInt8] {
        switch language {
        case .english:
            page(
                "You have to sign in", "Ask the operator of this server for a link: transfer access pair --web",
                "With a token: load this page again, and enter any name, and the token as the password.")
        case .chinese:
            page(
                "需要登录", "请向此服务器的管理员索取链接：transfer access pair --web",
                "如果您有令牌：重新加载此页，用户名任意，密码填写令牌。")
        case .german:
            page(
                "Bitte anmelden", "Bitte den Betreiber dieses Servers um einen Link: transfer access pair --web",
                "Mit einem Token: Lade diese Seite neu, und gib einen beliebigen Namen und das Token als Passwort ein.")
        }
    }

    private func page(_ title: String, _ paragraphs: String..., button: String? = nil) -> [UInt8] {
        SmallPage(language: language.rawValue, title: title, paragraphs: paragraphs, button: button).bytes
    }
}

/// Which site's page caused a request.
extension HTTPWay {
    /// Whether a page of this server caused the request, according to the browser: by `Origin`, or if that is missing by `Sec-Fetch-Site`
    /// (Fetch Metadata). False if the browser sends neither.
    func isFromOwnPage(_ head: RequestHead) -> Bool {
        let origins = head.fields.values("origin")
        guard origins.isEmpty else { return origins.count == 1 && isOwn(origins[0], head) }
        let sites = head.fields.values("sec-fetch-site")
        return sites.count == 1 && sites[0].elementsEqual("same-origin".utf8)
    }

    /// Whether a page of another site embeds the resource, rather than linking its user to it.
    static func isPartOfForeignPage(_ fields: HTTPFields) -> Bool {
        let own = ["same-origin", "none"].map { Array($0.utf8) }
        guard !fields.values("sec-fetch-site").allSatisfy(own.contains) else { return false }
        let goesThere = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")].allSatisfy { name, value in
            fields.values(name) == [Array(value.utf8)]
        }
        return !goesThere
    }
}
