import TransferHTTP
import TransferIntake
import TransferModel

/// The page that says why a person does not see what they have asked for, and what to do.
struct ErrorPage {
    private let language: Negotiation.Language
    private let status: Int
    /// The sentence of the problem details, in English.
    private let detail: String

    /// Adds a page to a refusal if a person looks at the answer.
    static func guided(_ refusal: HTTPRefusal, _ request: HTTPRequest, for caller: Caller) -> HTTPRefusal {
        guard refusal.page == nil, request.head.wantsPage else { return refusal }
        var refusal = refusal
        refusal.page =
            ErrorPage(
                language: request.head.language, status: refusal.status, detail: caller.redacted(refusal.message)
            ).bytes
        return refusal
    }

    private var bytes: [UInt8] {
        let words = words
        return SmallPage(
            language: language.rawValue, title: words.title, paragraphs: [words.advice], detail: detail,
            link: ("/", words.top)
        ).bytes
    }

    private var words: (title: String, advice: String, top: String) {
        switch language {
        case .english: english
        case .chinese: chinese
        case .german: german
        }
    }

    private var english: (title: String, advice: String, top: String) {
        let top = "Go to the first folder"
        return switch status {
        case 403: ("Not allowed", "Your access does not include this. Ask the operator of this server for more.", top)
        case 404: ("Nothing is here", "It may have been moved, renamed or removed.", top)
        case 421: ("Another name, please", "This server does not answer under this name.", top)
        case 503: ("Not now", "The server is busy, or stops. Load this page again in a moment.", top)
        case 500...: ("The server could not do this", "Its log says more. Load this page again later.", top)
        default: ("This did not work", "The address may be incomplete.", top)
        }
    }

    private var chinese: (title: String, advice: String, top: String) {
        let top = "返回首个文件夹"
        return switch status {
        case 403: ("不允许", "您的访问权限不包括此内容。如有需要，请联系此服务器的管理员。", top)
        case 404: ("这里什么也没有", "它可能已被移动、重命名或删除。", top)
        case 421: ("请使用其他名称", "此服务器不使用这个名称。", top)
        case 503: ("请稍候", "服务器正忙或正在停止，请稍后重新加载此页。", top)
        case 500...: ("服务器无法完成", "服务器的日志有更多信息。请稍后重新加载此页。", top)
        default: ("未能完成", "地址可能不完整。", top)
        }
    }

    private var german: (title: String, advice: String, top: String) {
        let top = "Zum ersten Ordner"
        return switch status {
        case 403:
            ("Nicht erlaubt", "Dein Zugang umfasst das nicht. Bitte den Betreiber dieses Servers um mehr Rechte.", top)
        case 404: ("Hier ist nichts", "Es wurde vielleicht verschoben, umbenannt oder gelöscht.", top)
        case 421: ("Bitte ein anderer Name", "Dieser Server antwortet nicht unter diesem Namen.", top)
        case 503: ("Nicht jetzt", "Der Server ist beschäftigt oder hält an. Lade diese Seite gleich noch einmal.", top)
        case 500...:
            ("Der Server konnte das nicht", "Mehr steht in seinem Protokoll. Lade diese Seite später noch einmal.", top)
        default: ("Das ging nicht", "Die Adresse ist vielleicht unvollständig.", top)
        }
    }
}
